"""Swept meshes against the volumes and areas of what they stand for."""

import numpy as np
import pytest

from soft_twin.errors import MeshError
from soft_twin.mesh.generate.sweep import Layer, Ring, sweep_stack, sweep_tube
from soft_twin.mesh.mesh import bonded_pieces, jacobians
from soft_twin.mesh.quality import quality
from soft_twin.mesh.selection import enclosed_volume, shells


def volume(mesh, cells=slice(None)):
    return (jacobians(mesh)[1] * mesh.element.weights)[cells].sum()


@pytest.mark.parametrize("inner", [0.0018, 0.0])
def test_a_swept_tube_has_the_volume_of_a_tube(inner):
    exact = np.pi * (0.0045**2 - inner**2) * 0.1
    errors = [abs(volume(sweep_tube(inner, 0.0045, 0.1, (1, n, 4), "hex20")) / exact - 1.0) for n in (8, 16)]
    assert errors[0] < 3e-3
    assert errors[1] < errors[0] / 12.0


def test_surfaces_of_a_tube_are_named():
    mesh = sweep_tube(0.0018, 0.0045, 0.1, (2, 6, 5))
    assert {name: len(faces) for name, faces in mesh.surfaces.items()} == {
        "base": 12, "tip": 12, "outside": 30, "lumen": 30,
    }  # fmt: skip
    radius = np.linalg.norm(mesh.nodes[:, :2], axis=1)
    np.testing.assert_allclose(radius[mesh.group("lumen")], 0.0018)
    np.testing.assert_allclose(radius[mesh.group("outside")], 0.0045)
    np.testing.assert_allclose(mesh.nodes[mesh.group("base")][:, 2], 0.0)
    np.testing.assert_allclose(mesh.nodes[mesh.group("tip")][:, 2], 0.1)


def test_segments_share_the_cells_and_the_first_ones_are_the_shortest():
    mesh = sweep_tube(0.0018, 0.0045, (0.04, 0.06), (1, 6, 5), "hex8", grading=2.0)
    np.testing.assert_allclose(np.unique(mesh.nodes[:, 2].round(9)), [0.0, 0.01, 0.04, 0.06, 0.08, 0.1])
    with pytest.raises(MeshError, match="grading of 0"):
        sweep_tube(0.0018, 0.0045, 0.1, (1, 6, 5), grading=0.0)


@pytest.mark.parametrize("around", [4, 8, 12, 20])
def test_a_rod_of_any_multiple_of_four_cells_around_fits_a_tube_of_as_many(around):
    rod = sweep_tube(0.0, 0.01, 0.1, (2, around, 3), "hex20")
    core = [Ring(0.0, 0.006, "core", 2)]
    assert volume(rod) == pytest.approx(0.1 * np.pi * 0.01**2, rel=2e-2 * (4 / around) ** 4)
    assert quality(rod).scaled_jacobian.min() > 0.5
    sleeve = [*core, Ring(0.006, 0.01, "sleeve", 1)]
    stack = sweep_stack([Layer(0.05, sleeve, 2), Layer(0.05, core, 2)], around)
    assert bonded_pieces(stack) == 1


@pytest.mark.parametrize("element", ["hex8", "hex20r"])
def test_a_rods_cells_are_well_shaped(element):
    assert quality(sweep_tube(0.0, 0.0045, 0.1, (2, 8, 20), element)).worst > 0.4


def test_a_stack_is_one_body_of_named_materials():
    """A core through three layers, with a skin around the first and a plate around the last."""
    layers = [
        Layer(0.05, [Ring(0.0, 0.005, "core"), Ring(0.005, 0.01, "skin")], 4),
        Layer(0.03, [Ring(0.0, 0.005, "core")], 3),
        Layer(0.02, [Ring(0.0, 0.005, "core"), Ring(0.005, 0.01, "plate")], 2),
    ]
    mesh = sweep_stack(layers, around=16)
    disc, ring = np.pi * 0.005**2, np.pi * (0.01**2 - 0.005**2)
    assert volume(mesh, mesh.volume("core")) == pytest.approx(0.1 * disc, rel=1e-3)
    assert volume(mesh, mesh.volume("skin")) == pytest.approx(0.05 * ring, rel=1e-3)
    assert volume(mesh, mesh.volume("plate")) == pytest.approx(0.02 * ring, rel=1e-3)
    assert len(shells(mesh)) == 1
    assert enclosed_volume(mesh.nodes, shells(mesh)[0]) == pytest.approx(volume(mesh), rel=0.02)
    np.testing.assert_allclose(np.unique(mesh.nodes[mesh.group("steps")][:, 2]), [0.05, 0.08])


def test_layers_that_do_not_meet_and_impossible_rings_are_refused():
    with pytest.raises(MeshError, match="2 parts"):
        sweep_stack([Layer(0.1, [Ring(0.001, 0.002, "a")], 2), Layer(0.1, [Ring(0.003, 0.004, "b")], 2)], 6)
    with pytest.raises(MeshError, match="share edges but no faces"):
        sweep_stack([Layer(0.1, [Ring(0.001, 0.004, "a")], 2), Layer(0.1, [Ring(0.003, 0.004, "b")], 2)], 6)
    with pytest.raises(MeshError, match="no layers with rings"):
        sweep_stack([], 6)
    with pytest.raises(MeshError, match="multiple of 4 cells around, not 6"):
        sweep_tube(0.0, 0.004, 0.1, (1, 6, 4))
    with pytest.raises(MeshError, match="has no volume"):
        sweep_tube(0.005, 0.004, 0.1, (1, 6, 4))
    with pytest.raises(MeshError, match="not tet4"):
        sweep_tube(0.003, 0.004, 0.1, (1, 6, 4), "tet4")


@pytest.mark.parametrize(("lengths", "along"), [((0.03, 0.03, 0.04), 2), ((0.1, -0.05), 4), ((0.0, 0.0), 4)])
def test_segments_that_make_no_tube_are_named(lengths, along):
    with pytest.raises(MeshError, match="segments of .* m are to be longer than 0 and have a cell each"):
        sweep_tube(0.0018, 0.0045, lengths, (1, 6, along))
