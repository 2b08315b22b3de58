"""Fibres carry tension only."""

import numpy as np
import pytest
from bodies import distorted_block

from soft_twin.errors import MaterialError
from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.materials.base import Energy
from soft_twin.mechanics.materials.fibres import Fibres
from soft_twin.mechanics.materials.muscle import Muscle
from soft_twin.mesh.generate.voxels import voxel_mesh

TAUT = np.diag([1.2, 0.9, 1.1]) + 0.05 * np.random.default_rng(0).normal(size=(10, 3, 3))
SLACK = np.diag([0.8, 1.3, 1.1]) + 0.05 * np.random.default_rng(1).normal(size=(10, 3, 3))


def test_taut_fibres_are_muscles_at_rest():
    fibres, muscle = Fibres(2e5, [1.0, 0.0, 0.0]), Muscle(2e5, [1.0, 0.0, 0.0])
    for name in ("energy", "stress", "tangent", "activation_stress"):
        np.testing.assert_array_equal(getattr(fibres, name)(TAUT), getattr(muscle, name)(TAUT))


def test_slack_fibres_do_nothing():
    fibres = Fibres(2e5, [1.0, 0.0, 0.0])
    for name in ("energy", "stress", "tangent", "activation_stress"):
        assert not getattr(fibres, name)(SLACK).any()


def test_derivatives():
    fibres = Fibres(2e5, [1.0, 0.5, 0.0])
    assert max(fibres.check_derivatives(np.concatenate([TAUT, SLACK]))) < 1e-8


def test_a_thread_in_one_direction_carries_force_over_area():
    stress = Fibres(3e5, [0.0, 0.0, 2.0]).stress(np.diag([0.7, 1.4, 1.1])[None])[0]
    assert stress == pytest.approx(np.diag([0.0, 0.0, 3e4]), abs=1e-9)


def test_bad_fibres_are_called_fibres():
    with pytest.raises(MaterialError, match="fibres: stiffness -1 Pa"):
        Fibres(-1.0, np.array([0.0, 0.0, 1.0]))


@pytest.mark.parametrize("element", ["hex20r", "hex8", "tet4", "tet10"])
@pytest.mark.parametrize("kind", [Fibres, Muscle])
def test_threads_are_added_up_as_any_law_is(kind, element):
    """Energy, forces and stiffness of the kernel against those of stresses and tangents, some threads slack."""
    mesh, rng = distorted_block(element), np.random.default_rng(3)
    m = len(mesh.cells)
    law = kind(3e5, rng.normal(size=(m, 3)), rng.uniform(-0.1, 0.1, m))
    body = Body(mesh, [Material(law, 1.0)])
    x = mesh.nodes * [1.05, 0.94, 1.1] + rng.normal(0.0, 1e-3 * mesh.size.max(), mesh.nodes.shape)
    found = []
    for assemble in (type(law).assemble, Energy.assemble):
        matrix, force, part = body.new_factorisation(), np.zeros_like(x), body.parts[0]
        told = assemble(
            part.law, x, part.cells, part.gradients, part.volumes, force, *matrix.addresses(part.cells), matrix.data
        )
        found.append((told, force, matrix.data))
    own, plain = found
    assert own[0] == pytest.approx(plain[0], rel=1e-12)
    for mine, theirs in zip(own[1:], plain[1:], strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-12 * np.abs(theirs).max())


def test_threads_without_an_address_add_forces_alone():
    mesh = voxel_mesh(np.ones((1, 1, 2), bool), 0.01, "hex20r")
    body, x = Body(mesh, [Material(Fibres(3e5, [0.0, 0.0, 1.0]), 1.0)]), mesh.nodes * [1.0, 1.0, 1.2]
    energy, force, _, _ = body.assemble(x)
    assert energy == pytest.approx(0.5 * 3e5 * 0.2**2 * 2e-6)
    assert force[mesh.group("tip"), 2].sum() == pytest.approx(3e5 * 0.2 * 1e-4)
