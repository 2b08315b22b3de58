"""Bodies of lobes against the volumes of half cylinders and cones, and against the mesh of a real arm."""

import os
from pathlib import Path

import numpy as np
import pytest

from soft_twin.errors import MeshError
from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.loads import Pressure
from soft_twin.mechanics.materials import energy_named
from soft_twin.mesh.files import read_mesh
from soft_twin.mesh.generate.lobes import Segment, lobed_arm
from soft_twin.mesh.mesh import boundary_faces, jacobians
from soft_twin.mesh.quality import quality
from soft_twin.mesh.selection import enclosed_volume, shells

DATA = Path(os.environ.get("SOFT_TWIN_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
REAL = DATA / "mesh_sopra" / "sopra_494.vtk"


def arm(divisions=3, element="hex20r"):
    segments = [Segment(0.120, (0.018, 0.0135), divisions), Segment(0.120, (0.0135, 0.0105), divisions)]
    return lobed_arm(3, 0.004, segments, [0.010, 0.021, 0.005], element)


def volume(mesh, cells=slice(None)):
    return float((jacobians(mesh)[1] * mesh.element.weights)[cells].sum())


def room(mesh, chamber):
    """Its volume, with curved faces as they are."""
    air = Pressure(chamber)
    air.attach(Body(mesh, Material(energy_named("linear", 1e5, 0.3), 1.0), "base"))
    return air.volume(mesh.nodes)


def half_cone(length, first, last):
    """Volume of a body of half discs whose radius is linear along it."""
    return np.pi / 6.0 * length * (first**2 + first * last + last**2)


@pytest.mark.parametrize(("lobes", "radius", "wall"), [(3, 0.02, 0.005), (4, 0.012, 0.002), (6, 0.01, 0.003)])
def test_volumes_are_those_of_prisms_and_half_cylinders(lobes, radius, wall):
    mesh = lobed_arm(lobes, wall, [Segment(0.1, (radius, radius), 2)], [0.01, 0.02])
    polygon = lobes * radius**2 / np.tan(np.pi / lobes)
    halves = 0.5 * np.pi * np.array([radius**2, (radius - wall) ** 2])
    assert volume(mesh, mesh.volume("core")) == pytest.approx(0.1 * polygon, rel=1e-9)
    assert volume(mesh, mesh.volume("caps")) == pytest.approx(0.03 * (polygon + lobes * halves[0]), rel=1e-3)
    for k in range(1, lobes + 1):
        assert room(mesh, f"chamber {k}") == pytest.approx(0.1 * halves[1], rel=1e-3)
        assert volume(mesh, mesh.volume(f"wall {k}")) == pytest.approx(0.1 * (halves[0] - halves[1]), rel=1e-3)
    assert len(shells(mesh)) == 1 + lobes


def test_a_segment_tapers_as_a_cone_does():
    mesh = arm()
    for k, ends in ((1, (0.014, 0.0095)), (4, (0.0095, 0.0065))):
        assert room(mesh, f"chamber {k}") == pytest.approx(half_cone(0.120, *ends), rel=1e-3)


def test_chambers_and_walls_are_counted_from_the_base_and_from_x():
    mesh = arm()
    for k in range(6):
        place, turn = mesh.nodes[np.unique(mesh.surface(f"chamber {k + 1}"))].mean(axis=0), np.radians(120.0 * (k % 3))
        wall = mesh.nodes[np.unique(mesh.cells[mesh.volume(f"wall {k + 1}")])].mean(axis=0)
        assert place[2] == pytest.approx((0.070, 0.211)[k // 3], abs=1e-4)
        np.testing.assert_allclose(place[:2] / np.hypot(*place[:2]), [np.cos(turn), np.sin(turn)], atol=1e-9)
        assert np.hypot(*wall[:2]) > np.hypot(*place[:2])


def test_every_outer_face_has_a_name_and_cells_are_well_shaped():
    for element in ("hex20r", "hex8"):
        mesh = arm(2, element)
        assert sum(len(faces) for faces in mesh.surfaces.values()) == len(boundary_faces(mesh))
        assert sum(len(cells) for cells in mesh.volumes.values()) == len(mesh.cells)
        assert quality(mesh).scaled_jacobian.min() > 0.15


def test_it_is_as_wide_as_its_lobes_reach():
    """The middles of the lowest lobes are 18/√3 mm from the axis, their rims 18 mm farther in any direction outward."""
    apothem = 0.018 / np.sqrt(3.0)
    low = [-0.5 * apothem - 0.018, -0.5 * np.sqrt(3.0) * apothem - 0.018, 0.0]
    high = [apothem + 0.018, 0.027, 0.276]
    np.testing.assert_allclose(arm().bounds, [low, high], atol=2e-4)  # as far as nodes are on the arcs


@pytest.mark.skipif(not REAL.is_file(), reason=f"no mesh at {REAL}: set SOFT_TWIN_DATA")
def test_it_is_as_the_mesh_of_the_real_arm_where_that_has_its_nodes():
    """Upside down: it hangs. Its nodes, far apart on the arcs, lie on ours."""
    real, mesh = read_mesh(REAL), arm(10)
    own, outer = shells(real)[0], np.unique(mesh.surface("outside"))
    places = real.nodes[np.unique(own)] * [1.0, 1.0, -1.0]
    corners = places[(places[:, 2] > 0.0099) & (places[:, 2] < 0.2711) & (np.hypot(*places[:, :2].T) > 0.0155)]
    heights = np.unique(mesh.nodes[outer, 2].round(6))
    nearest = heights[np.abs(corners[:, 2:] - heights).argmin(axis=1)]
    at_a_level = np.abs(corners[:, 2] - nearest) < 1e-4
    away = [np.linalg.norm(mesh.nodes[outer] - corner, axis=1).min() for corner in corners[at_a_level]]
    assert at_a_level.sum() > 60
    assert max(away) < 2e-3
    chambers = [-enclosed_volume(real.nodes, faces) for faces in shells(real)[1:]]
    ours = [room(mesh, f"chamber {k}") for k in range(1, 7)]
    assert np.divide(chambers, ours) == pytest.approx(6 * [0.84], abs=0.02)  # chords for arcs of 45°, straight cones


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda of: of.update(lobes=2), "2 lobes and 1 segments"),
        (lambda of: of.update(segments=[]), "3 lobes and 0 segments"),
        (lambda of: of.update(caps=[0.01]), r"caps of \[0.01\] m: 1 segments have 2"),
        (lambda of: of.update(caps=[0.01, 0.0]), "above 0 m"),
        (lambda of: of.update(wall=0.02), "segment 1, 0.1 m in 2 cells with radii .* has no chambers"),
        (lambda of: of.update(element="tet4"), "hexahedra, not tet4"),
        (
            lambda of: of.update(segments=[*of["segments"], Segment(0.1, (0.01, 0.01), 2)], caps=[0.01] * 3),
            "segment 1 ends with 0.02 m, the next begins with 0.01 m",
        ),
    ],
)
def test_what_makes_no_body_is_said(change, told):
    of = {"lobes": 3, "wall": 0.004, "segments": [Segment(0.1, (0.02, 0.02), 2)], "caps": [0.01, 0.01]}
    change(of)
    with pytest.raises(MeshError, match=told):
        lobed_arm(**of)
