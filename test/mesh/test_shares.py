"""What nodes carry of a plate: its centroid and second moments in closed form, on even and uneven meshes."""

from dataclasses import replace

import numpy as np
import pytest

from soft_twin.mesh.generate.sweep import sweep_tube
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.mesh.shares import surface_shares

WIDTH, DEPTH = 0.06, 0.04  # [m]
EVEN, UNEVEN, STEEP = (lambda s: s), (lambda s: 0.3 * s + 0.7 * s**2), (lambda s: s**3)


def rectangle(element, cells, along):
    """Nodes (k, 3) on top of a block whose cells along x lie between along(i/n), and their shares (k,)."""
    mesh = voxel_mesh(np.ones((*cells, 1)), np.array([1.0 / cells[0], DEPTH / cells[1], 0.01]), element)
    nodes, even = mesh.nodes.copy(), np.linspace(0.0, 1.0, cells[0] + 1)
    nodes[:, 0] = WIDTH * np.interp(nodes[:, 0], even, along(even))
    mesh = replace(mesh, nodes=nodes)
    return mesh.nodes[np.unique(mesh.surfaces["tip"])], surface_shares(mesh, mesh.surfaces["tip"])


@pytest.mark.parametrize("along", [EVEN, UNEVEN, STEEP], ids=["even", "uneven", "steep"])
@pytest.mark.parametrize("element", ["hex8", "hex20r", "tet4", "tet10"])
def test_they_have_the_centroid_and_second_moments_of_a_rectangle(element, along):
    x, shares = rectangle(element, (6, 4), along)
    arms = x - [0.5 * WIDTH, 0.5 * DEPTH, 0.01]
    assert shares.min() >= 0.0 and shares.sum() == pytest.approx(1.0, abs=1e-12)
    assert shares @ arms == pytest.approx(np.zeros(3), abs=1e-12 * WIDTH)
    moments = np.diag([WIDTH**2 / 12.0, DEPTH**2 / 12.0, 0.0])
    assert (arms.T * shares) @ arms == pytest.approx(moments, abs=1e-10 * WIDTH**2)


def test_of_a_rim_alone_they_have_the_centroid():
    """Nodes at the edges of one face are further out than the face is on the whole."""
    x, shares = rectangle("hex20r", (1, 1), EVEN)
    assert shares == pytest.approx(np.full(8, 0.125))
    x, shares = rectangle("hex8", (2, 1), UNEVEN)
    assert shares.min() >= 0.0
    assert shares @ x == pytest.approx([0.5 * WIDTH, 0.5 * DEPTH, 0.01])


def test_a_ring_has_the_moments_of_a_ring():
    """(R² + r²)/4 about its diameters, to what the cells' sides lack of circles."""
    mesh = sweep_tube(0.004, 0.01, 0.02, (2, 24, 1))
    shares, x = surface_shares(mesh, mesh.surfaces["tip"]), mesh.nodes[np.unique(mesh.surfaces["tip"])]
    moments = (x[:, :2].T * shares) @ x[:, :2]
    assert moments == pytest.approx(np.eye(2) * (0.01**2 + 0.004**2) / 4.0, rel=1e-3, abs=1e-12)
