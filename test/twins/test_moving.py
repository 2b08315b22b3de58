"""Bodies that move behind one interface: finite elements, a rod, and SOFA's with a stand-in in its process's place."""

from pathlib import Path

import numpy as np
import pytest

from soft_twin import load_robot
from soft_twin.errors import InputError, UsageError
from soft_twin.mechanics.moving_base import MovingBase
from soft_twin.mesh.generate.sweep import sweep_tube
from soft_twin.mesh.tetrahedra import linear_tetrahedra
from soft_twin.twins.sofa import process

STAND_IN = Path(__file__).parent / "sofa" / "stand_in.py"
DT, SIDEWAYS = 0.02, np.array([0.0, -9.81, 0.0])
SLACK = np.full(6, -0.01)
TURNING = MovingBase(SIDEWAYS, np.array([0.0, 3.0, 8.0]), np.array([2.0, 0.0, 0.0]))


@pytest.fixture(autouse=True)
def no_sofa_but_the_stand_in(monkeypatch):
    monkeypatch.setattr(process, "WORKER", STAND_IN)


@pytest.fixture(scope="module")
def robot():
    return load_robot("slender")


def tetrahedra(robot):
    radii = 0.5 * robot.body.lumen_diameter, 0.5 * robot.body.outer_diameter
    mesh = linear_tetrahedra(sweep_tube(*radii, robot.body.length, (1, 6, 6), "hex8"), 1)
    return {"mesh": (mesh.nodes, mesh.cells), "element": "tet4"}


def moved(body, wound, base, steps):
    """Tips (t, 3) of a body that is let go straight while its winches go to (6,) within half the steps."""
    body.straighten()
    tips = []
    for step in range(steps):
        body.drive(np.minimum(2.0 * (step + 1) / steps, 1.0) * wound, base)
        tips.append(body.tip)
    return np.array(tips)


@pytest.mark.parametrize("backend", ["fem", "rod", "sofa"])
def test_steps_that_are_none_are_refused_and_change_nothing(robot, backend):
    body = robot.build_dynamic_twin(DT, backend=backend, **(tetrahedra(robot) if backend == "sofa" else {}))
    body.straighten()
    for dt in (0.0, -0.01, np.nan, np.inf):
        with pytest.raises(InputError, match=f"^time step: {dt} s is not positive$"):
            body.drive(SLACK, MovingBase(SIDEWAYS), dt)
    np.testing.assert_allclose(body.tip, [0.0, 0.0, 0.1], atol=1e-12)


@pytest.mark.parametrize("backend", ["fem", "rod", "sofa"])
def test_each_is_told_and_asked_alike(robot, backend):
    body = robot.build_dynamic_twin(DT, backend=backend, **(tetrahedra(robot) if backend == "sofa" else {}))
    assert body.actuator_count == 6 and body.dt == DT
    body.settle(SIDEWAYS)
    rest = body.tip
    assert -0.04 < rest[1] < -0.005 and body.tip_direction[1] < -0.05
    body.drive(SLACK, MovingBase(SIDEWAYS))
    assert np.linalg.norm(body.tip - rest) < 1e-5 and body.efforts.max() < 1e-12
    np.testing.assert_allclose(body.centre_line[-1], body.tip, atol=1e-9)
    body.straighten()
    np.testing.assert_allclose(body.tip, [0.0, 0.0, 0.1], atol=1e-12)
    assert (body.coordinates < 1e-12).all() and len(body.centre_line) == 11
    body.drive(np.zeros(6), MovingBase(SIDEWAYS), 0.05)
    assert body.efforts.max() > 0.01  # held at home, cables carry
    with pytest.raises(InputError, match="coordinates"):
        body.drive(np.full(6, np.nan), TURNING)


@pytest.mark.parametrize("wound", [SLACK, np.array([0.003, 0.0, 0.0, -0.002, 0.0, 0.0])])
def test_a_rod_moves_as_finite_elements_do_on_a_base_that_turns(robot, wound):
    ours, rods = (moved(robot.build_dynamic_twin(DT, backend=name), wound, TURNING, 20) for name in ("fem", "rod"))
    assert np.linalg.norm(ours[-1] - [0.0, 0.0, 0.1]) > 0.01
    assert np.linalg.norm(ours - rods, axis=1).max() < 0.03 * np.linalg.norm(ours - [0.0, 0.0, 0.1], axis=1).max()


def test_a_turning_base_throws_a_rod_outwards_as_it_should(robot):
    """About its own axis, a little bent by its weight: the centrifuge takes ρ A ω² off its stiffness."""
    rate = 6.0
    tips = []
    for spin in (0.0, rate):
        body = robot.build_dynamic_twin(0.05, backend="rod")
        base = MovingBase(np.array([0.0, -0.02, 0.0]), np.array([0.0, 0.0, spin]))
        tips.append(moved(body, SLACK, base, 200)[-1, 1])
    section = body.rod.stiffness[0, 0] / body.rod.element_lengths[0], body.rod.masses[0] / body.rod.element_lengths[0]
    first = 1.87510407**2 / robot.body.length**2 * np.sqrt(section[0] / section[1])  # rad/s
    assert tips[1] / tips[0] == pytest.approx(1.0 / (1.0 - (rate / first) ** 2), rel=0.01)


def test_a_rod_takes_every_step(robot):
    rng = np.random.default_rng(3)
    body = robot.build_dynamic_twin(0.01, backend="rod")
    for _ in range(150):
        gravity = rng.normal(size=3)
        gravity *= 9.81 * rng.uniform(0.5, 5.0) / np.linalg.norm(gravity)
        body.drive(rng.uniform(-0.002, 0.012, 6), MovingBase(gravity, rng.normal(0.0, 5.0, 3)))
        assert np.isfinite(body.points).all() and (body.efforts >= 0.0).all()
    assert body.damped_steps == 0


def test_sofas_steps_are_ours_where_its_process_computes_as_we_do(robot):
    choices = tetrahedra(robot)
    theirs = robot.build_dynamic_twin(DT, backend="sofa", **choices)
    ours = robot.build_dynamic_twin(DT, material="corotational", **choices)
    assert theirs.version == "99.12.01"
    found, expected = (moved(body, SLACK, TURNING, 8) for body in (theirs, ours))
    assert np.linalg.norm(expected[-1] - [0.0, 0.0, 0.1]) > 2e-3
    assert np.linalg.norm(found - expected, axis=1).max() < 1e-4  # SOFA knows no stress that turns with the body


def test_cables_that_sofas_winches_hold_are_tight_as_ours_once_they_stand(robot):
    """Their stretch is a step late: while winches jerk the tip is apart by a tenth of its way, at rest it is not."""
    choices, wound = tetrahedra(robot), np.array([0.003, 0.0, 0.0, -0.002, 0.0, 0.0])
    theirs = robot.build_dynamic_twin(DT, backend="sofa", **choices)
    ours = robot.build_dynamic_twin(DT, material="corotational", **choices)
    found, expected = (moved(body, wound, TURNING, 24) for body in (theirs, ours))
    way = np.linalg.norm(expected - [0.0, 0.0, 0.1], axis=1).max()
    assert way > 0.01 and np.linalg.norm(found - expected, axis=1).max() < 0.1 * way
    assert np.linalg.norm(found[-1] - expected[-1]) < 0.01 * way
    np.testing.assert_allclose(theirs.efforts, ours.efforts, atol=0.02 * ours.efforts.max())


def test_what_cannot_move_is_named(robot):
    with pytest.raises(UsageError, match="no twin 'abaqus': there are fem, rod, sofa"):
        robot.build_dynamic_twin(backend="abaqus")
    with pytest.raises(UsageError, match="build_dynamic_twin"):
        robot.build_dynamics(backend="sofa")
    with pytest.raises(UsageError, match="'finger' has rigid plates and chambers"):
        load_robot("finger").build_dynamic_twin(backend="sofa")
    with pytest.raises(UsageError, match="no twin 'rod' of robot 'finger': there are fem, sofa"):
        load_robot("finger").build_dynamic_twin(backend="rod")
