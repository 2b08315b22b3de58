"""Twins that are cruder than finite elements: beside closed forms, and corrected by the same learning."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from small_membrane import small_sizes

from soft_twin.learning.flattening import boundary_loops
from soft_twin.learning.frames import Recording, Scan
from soft_twin.learning.surfaces import SurfaceFit
from soft_twin.mesh.selection import enclosed_volume
from soft_twin.mesh.triangles import drawn
from soft_twin.robots import load_robot
from soft_twin.studies.learning.crude.arcs import ArcShapes, Segment, measured_segment
from soft_twin.studies.learning.crude.tubes import AROUND, tube_points, tube_triangles

pytest.importorskip("jax", reason="JAX is not installed: pip install soft_twin[learning]")
from soft_twin.learning.evaluation import surface_distances
from soft_twin.learning.layer import grid
from soft_twin.learning.teaching import learn_shapes, learn_warp
from soft_twin.learning.training import WarpTraining, Weights
from soft_twin.studies.learning.twins import arcs_of, chain_of, chamber_directions, segment_ends

LENGTH, RADIUS, HIGHEST = 0.2, 0.02, 50e3  # [m], [m], [Pa]
LIMITS = np.array([[0.0, HIGHEST]] * 3)


def arcs(gain=1.0):
    bend = 1.2 * gain / HIGHEST
    return ArcShapes(
        [Segment(0.02, 0.18, (0, 1, 2), chamber_directions(3), bend, 0.1 / HIGHEST)], LENGTH, RADIUS, LIMITS
    )


def tip(points):
    return points[-AROUND:].mean(axis=0)


def test_a_tube_is_closed_around_and_its_triangles_are_outward():
    heights = np.linspace(0.0, LENGTH, 12)
    points = tube_points(np.outer(heights, [0.0, 0.0, 1.0]), Rotation.identity(12), RADIUS)
    triangles = tube_triangles(12)
    assert len(boundary_loops(triangles)) == 2 and len(triangles) == 2 * 11 * AROUND
    fan = np.column_stack([np.zeros(AROUND - 2, int), 1 + np.arange(AROUND - 2), 2 + np.arange(AROUND - 2)])
    closed = np.vstack([triangles, fan[:, ::-1], fan + len(points) - AROUND])
    area = 0.5 * AROUND * RADIUS**2 * np.sin(2.0 * np.pi / AROUND)
    assert enclosed_volume(points, closed) == pytest.approx(area * LENGTH, rel=1e-9)


def test_arcs_are_arcs():
    """One full chamber: an angle of 1.2 rad and a tenth longer; the straight ends go on along it."""
    twin = arcs()
    assert SurfaceFit.at_rest(twin.surface.points, twin.surface.triangles).uv.shape[1] == 2
    found = tip(twin.shapes_of(np.array([[HIGHEST, 0.0, 0.0]]))[0])
    arc, angle = 1.1 * 0.16, 1.2
    across = arc / angle * (1.0 - np.cos(angle)) + 0.02 * np.sin(angle)
    up = 0.02 + arc / angle * np.sin(angle) + 0.02 * np.cos(angle)
    np.testing.assert_allclose(found[:2], -across * chamber_directions(3)[0], rtol=2e-4)
    assert found[2] == pytest.approx(up, rel=2e-4)
    straight = twin.shapes_of(np.full((1, 3), HIGHEST))[0]
    np.testing.assert_allclose(tip(straight), [0.0, 0.0, 0.04 + 0.16 * 1.3], atol=1e-9)


def test_a_segments_constants_are_those_of_the_pose_in_which_it_is_measured():
    robot = load_robot("manipulator")
    twin = robot.build_twin()
    ends = segment_ends(robot.description.body.mesh.sweep)
    np.testing.assert_allclose(ends, [(0.010, 0.104), (0.118, 0.250)])
    found = measured_segment(twin, (3, 4, 5), chamber_directions(3), ends[1], 30e3)
    twin.equilibrium(np.zeros(3), efforts=[0.0, 0.0, 0.0, 30e3, 0.0, 0.0])
    angle = np.arccos(twin.section_normal(0.250)[2])
    assert found.bend * 30e3 == pytest.approx(angle, rel=0.02)
    towards = twin.section(0.250, twin.points)[:2]
    own = tip(arcs_of(robot).shapes_of(np.array([[0.0, 0.0, 0.0, 30e3, 0.0, 0.0]]))[0])[:2]
    assert towards @ own > 0.95 * np.linalg.norm(towards) * np.linalg.norm(own)


def test_what_is_wrong_with_arcs_is_learned_from_scans_as_with_any_twin():
    """A reality that bends by a quarter more, seen as clouds without correspondences."""
    twin, reality, random = arcs(), arcs(1.25), np.random.default_rng(0)
    simulations = twin.simulations(40)
    assert simulations.pressures.shape == (40, 3) and simulations.seconds > 0.0
    shapes, error = learn_shapes(simulations, twin.surface, twin.inflation, 2, epochs=80)
    assert error < 3.0 and len(shapes.symmetries) == 5
    seen, triangles = random.uniform(0.0, HIGHEST, (8, 3)), twin.surface.triangles
    scans = [Scan(*drawn(reality.shapes_of(p[None])[0], triangles, 200, random)) for p in seen]
    robot = load_robot("manipulator")
    training = WarpTraining(25, 2, 24, 4e-4, Weights(confidence=None, patch=shapes.patch), epochs=0)
    with small_sizes():
        correction = learn_warp(shapes, Recording(seen, scans, ""), robot, training)
    before, after = [], []
    for pressures in random.uniform(0.0, HIGHEST, (4, 3)):
        true, uv = reality.shapes_of(pressures[None])[0], grid(144)
        before.append(surface_distances(correction.simulated(pressures, uv), true, triangles).mean())
        after.append(surface_distances(correction(pressures, uv), true, triangles).mean())
    assert np.mean(after) < 0.3 * np.mean(before)


def test_a_chain_of_plates_is_stretched_and_bent_as_springs_are():
    pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install mujoco")
    robot = load_robot("bellows")
    chain = chain_of(robot)
    own = chain._segments[0]
    assert SurfaceFit.at_rest(chain.surface.points, chain.surface.triangles).uv.shape[1] == 2
    rest, full = (tip(shape) for shape in chain.shapes_of(np.array([np.zeros(9), np.full(9, 8e3)])))
    assert rest[2] == pytest.approx(0.920, abs=0.01) and np.hypot(*rest[:2]) < 1e-6
    assert full[2] - rest[2] == pytest.approx(3 * 0.28 * 3.0 * own.area * 8e3 / own.tension, rel=1e-3)
    pressures = np.zeros(9)
    pressures[6] = 500.0  # the last segment's first bellows: a small bend by p A r / EI a length
    bent = chain.shapes_of(pressures[None])[0]
    axis = np.cross(bent[-AROUND] - tip(bent), bent[-AROUND + AROUND // 4] - tip(bent))
    angle = np.arccos(axis[2] / np.linalg.norm(axis))
    assert angle == pytest.approx(0.28 * 500.0 * own.area * own.arm / own.bending, rel=0.05)
    assert tip(bent)[:2] @ chamber_directions(3)[0] < 0.0
