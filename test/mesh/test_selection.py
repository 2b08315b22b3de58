"""Parts of a block chosen by place."""

import numpy as np
import pytest
from bodies import distorted_block

from soft_twin.errors import MeshError
from soft_twin.mesh.elements import ELEMENTS
from soft_twin.mesh.selection import enclosed_volume, nodes_where, shells, surface_of


@pytest.mark.parametrize("name", ELEMENTS)
def test_faces_are_chosen_by_centre_and_normal(name):
    mesh = distorted_block(name)
    top = surface_of(mesh, lambda centres, normals: normals[:, 2] > 0.9)
    np.testing.assert_allclose(mesh.nodes[top][..., 2], 2.0)
    half = surface_of(mesh, lambda centres, normals: (normals[:, 2] > 0.9) & (centres[:, 0] < 1.0))
    assert len(half) == len(top) / 3
    np.testing.assert_array_equal(nodes_where(mesh, lambda x: x[:, 2] > 1.99), np.unique(top))


def test_choosing_nothing_is_an_error_that_says_where_the_mesh_is():
    mesh = distorted_block("tet4")
    with pytest.raises(MeshError, match="none of the .* faces is chosen: the mesh spans x 0…3000"):
        surface_of(mesh, lambda centres, normals: centres[:, 2] > 5.0)
    with pytest.raises(MeshError, match="none of the 36 nodes"):
        nodes_where(mesh, lambda x: x[:, 2] > 5.0)


def test_a_block_has_one_shell_around_its_volume():
    mesh = distorted_block("hex20")
    assert [enclosed_volume(mesh.nodes, shell) for shell in shells(mesh)] == pytest.approx([12.0])
