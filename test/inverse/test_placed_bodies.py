"""Bodies that do not stand on the origin: what is reached, aimed at and refused is the same, only elsewhere."""

from dataclasses import replace

import numpy as np
import pytest

from soft_twin.errors import InputError
from soft_twin.inverse.controller import Controller
from soft_twin.inverse.goals import PositionGoal
from soft_twin.inverse.inverse import Inverse, arc_posture
from soft_twin.inverse.limits import CoordinateLimit, EffortLimit
from soft_twin.inverse.targets import pose_target
from soft_twin.mechanics.actuators.cables import CableActuators
from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.cables import Cables
from soft_twin.mechanics.loads.loads import Gravity
from soft_twin.mechanics.materials import energy_named
from soft_twin.mechanics.model import Model
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.twins.finite_element import FemTwin
from soft_twin.twins.frames import SectionFrame

LENGTH = 0.1
SIDEWAYS = np.array([1.0, -9.0, -2.0])
TARGET = np.array([0.03, 0.02, 0.085])
ENDS = [(0.004, 0.003), (-0.004, 0.003), (0.0, -0.003)]
PLACES = [(0.05, 0.02, 0.0), (0.3, 0.0, 0.0), (0.0, 0.0, 0.25), (-0.02, 0.1, -0.4)]


def body_at(place, clamped="base"):
    """A block of 12 × 10 × 100 mm whose base's middle is at a place (3,) [m]."""
    mesh = voxel_mesh(np.ones((2, 2, 6), bool), (0.006, 0.005, LENGTH / 6), "hex8f")
    mesh = replace(mesh, nodes=mesh.nodes - [0.006, 0.005, 0.0] + place)
    return Body(mesh, Material(energy_named("corotational", 3e5, 0.4), 1100.0), clamped)


def twin_at(place, clamped="base"):
    """Its twin, with three cables to the tip and three half-way up."""
    body, place = body_at(place, clamped), np.asarray(place)
    starts, ends = (
        np.array([[x, y, share * up] for up in (LENGTH, 0.5 * LENGTH) for x, y in ENDS]) + place for share in (0.0, 1.0)
    )
    model = Model(body, [Gravity()], actuators=[CableActuators(Cables(body.mesh, starts, ends), 5e3)])
    return FemTwin(model, LENGTH, {"tip": SectionFrame(place[2] + LENGTH)})


def inverse_at(place, posture=arc_posture):
    twin = twin_at(place)
    return Inverse(twin, [EffortLimit(0.0, 5.0), CoordinateLimit(-0.02, 0.05)], twin.actuators.names, posture)


@pytest.fixture(scope="module")
def at_origin():
    inverse = inverse_at(np.zeros(3))
    return inverse.solve(SIDEWAYS, TARGET), inverse.twin.section(0.5 * LENGTH, inverse.twin.points)


@pytest.mark.parametrize("place", PLACES)
def test_a_body_elsewhere_takes_the_same_posture(at_origin, place):
    inverse = inverse_at(place)
    np.testing.assert_allclose(inverse.twin.base, place, atol=1e-12)
    found = inverse.solve(SIDEWAYS, TARGET + place)
    np.testing.assert_allclose(found.efforts, at_origin[0].efforts, atol=1e-4)
    middle = inverse.twin.section(place[2] + 0.5 * LENGTH, inverse.twin.points)
    np.testing.assert_allclose(middle - place, at_origin[1], atol=1e-6)
    assert found.error == pytest.approx(at_origin[0].error, abs=1e-6)


def test_on_the_axis_the_base_is_the_origin_to_the_last_bit_that_counts():
    assert np.abs(twin_at(np.zeros(3)).base).max() < 1e-16


def test_the_base_of_a_body_that_hangs_is_where_it_is_clamped():
    np.testing.assert_allclose(twin_at((0.05, 0.0, -LENGTH), "tip").base, [0.05, 0.0, 0.0], atol=1e-12)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("clamped", "up"), [("base", LENGTH), ("tip", 0.0)])
def test_the_tip_is_the_end_that_is_free_where_nothing_else_is_said(place, clamped, up):
    twin = FemTwin(Model(body_at(place, clamped), [Gravity()]), LENGTH)
    np.testing.assert_allclose(twin.tip, np.add(place, [0.0, 0.0, up]), atol=1e-12)
    assert np.linalg.norm(twin.equilibrium(SIDEWAYS).tip - twin.base) == pytest.approx(LENGTH, rel=0.02)


@pytest.mark.parametrize("place", PLACES)
def test_a_loop_tells_where_the_tip_looks_wherever_the_body_stands(place):
    ticks = []
    for origin in (np.zeros(3), np.asarray(place)):
        controller = Controller(inverse_at(origin), TARGET + origin)
        controller.enable(True)
        ticks.append([controller.update(SIDEWAYS) for _ in range(30)][-1])
    at_origin, elsewhere = ticks
    np.testing.assert_allclose(elsewhere.tip_direction, at_origin.tip_direction, atol=1e-5)
    np.testing.assert_allclose(elsewhere.centre_line - place, at_origin.centre_line, atol=1e-6)
    assert np.degrees(np.arccos(at_origin.tip_direction[2])) > 10.0


@pytest.mark.parametrize("place", PLACES)
def test_reach_is_measured_from_the_base(place):
    inverse = inverse_at(place, None)
    tip = inverse.twin.frames["tip"]
    for away in (np.array([0.0, 0.0, 1.9 * LENGTH]), np.array([1.9 * LENGTH, 0.0, 0.0])):
        np.testing.assert_array_equal(pose_target(inverse, away + place).position, away + place)
    for away in (np.array([0.0, 0.0, 2.1 * LENGTH]), np.array([-2.1 * LENGTH, 0.0, 0.0])):
        for refused in (
            lambda far=away + place: pose_target(inverse, far),
            lambda far=away + place: inverse.solve(SIDEWAYS, far),
            lambda far=away + place: inverse.solve(SIDEWAYS, goals=[PositionGoal(tip, far)]),
        ):
            with pytest.raises(InputError, match="is 0.21 m from the base, the body is 0.1 m long"):
                refused()


@pytest.mark.parametrize("place", PLACES)
def test_behind_the_base_is_below_where_it_stands(place):
    inverse = inverse_at(place)
    inverse.checked_tip(np.array([0.05, 0.0, 0.001]) + place)
    with pytest.raises(InputError, match=f"is behind the base: expected z ≥ {place[2]:g} m of a body on an arc"):
        inverse.checked_tip(np.array([0.05, 0.0, -0.001]) + place)


@pytest.mark.parametrize("place", PLACES)
def test_a_line_is_followed_wherever_the_body_stands(place):
    """Straight: the sections on it stay where they are."""
    inverse = inverse_at(place, None)
    line = place + np.outer(np.linspace(0.0, 1.0, 5), [0.0, 0.0, LENGTH])
    goals = pose_target(inverse, line[-1], line=line).goals(inverse)
    assert max(goal.miss(inverse.twin) for goal in goals) < 1e-9
    for share, frame in zip((0.5, 0.75), goals[1].frames, strict=True):
        assert frame.z == pytest.approx(place[2] + share * LENGTH)
