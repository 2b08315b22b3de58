"""Bodies that are asked to go where they have no equilibrium: nothing in them is made up, but limits are lifted."""

import numpy as np
import pytest

from soft_twin import load_robot
from soft_twin.errors import ConvergenceError
from soft_twin.inverse.controller import Controller
from soft_twin.inverse.inverse import GIVES_WAY, Inverse
from soft_twin.inverse.limits import EffortLimit
from soft_twin.inverse.trust import CORRECTIONS, ON_ITS_WAY, TURNED, Trust

UPRIGHT = np.array([0.0, 0.0, -9.81])
HIGHEST = 2e5  # [Pa] far beyond what silicone chambers bear


@pytest.fixture(scope="module")
def balloon(coarse_arm):
    """The arm whose chambers may be filled until they balloon: without the limit that keeps them from it."""
    own = coarse_arm.build_inverse()
    return Inverse(own.twin, [EffortLimit(0.0, HIGHEST), own.limits[1]], own.names, own.posture)


def is_equilibrium(twin, efforts):
    """Whether a body that is told so comes to rest by Newton's method alone."""
    for _ in range(12):
        step = twin.linearise(UPRIGHT)
        if step.definite and step.asked(efforts) < 1e-7:
            return True
        twin.advance(step, efforts, 0.005)
    return False


def test_a_body_that_would_balloon_stays_on_its_equilibria_and_finds_itself_again(balloon, coarse_arm):
    home = coarse_arm.target_tip
    controller = Controller(balloon, home)
    controller.enable(True)
    for _ in range(8):
        controller.update(UPRIGHT)
    controller.set_target([0.0, 0.0, 0.45])
    ticks = [controller.update(UPRIGHT) for _ in range(48)]
    largest = max(tick.efforts.max() for tick in ticks)
    assert largest < 0.5 * HIGHEST  # its limits have not held it back
    assert max(tick.coordinates.max() for tick in ticks) < 1e-4  # [m³]: no chamber has ballooned
    state = balloon.twin.state()
    for tick in (ticks[40], ticks[-1]):
        balloon.twin.restore(state)
        assert is_equilibrium(balloon.twin, tick.efforts)
    balloon.twin.restore(state)
    held = [tick for tick in ticks if tick.holding]
    assert all(tick.reason and not tick.converged for tick in held)
    controller.set_target(home)
    back = [controller.update(UPRIGHT) for _ in range(32)][-1]
    assert back.converged and back.error < 1e-6 and not back.holding


def test_a_whole_solve_says_that_the_body_would_give_way_and_ends_there(balloon):
    balloon.twin.reset()
    found = balloon.solve(UPRIGHT, [0.0, 0.0, 0.45])
    assert not found.converged and not found.reachable
    assert GIVES_WAY in found.active_limits
    assert found.residual < 0.1  # [N]: it is at rest, but for the last correction
    assert found.efforts.max() < 0.5 * HIGHEST


def test_what_a_finger_tries_that_finds_no_rest_is_not_told():
    """Cables and a chamber of another robot, without limits: before it goes with care, too."""
    robot = load_robot("finger")
    own = robot.build_inverse()
    controller = Controller(Inverse(own.twin, [EffortLimit(0.0, 1e6)], own.names, own.posture), robot.target_tip)
    controller.enable(True)
    for _ in range(60):
        controller.update(UPRIGHT)
    controller.set_target([-0.1, 0.05, 0.016])
    ticks = [controller.update(UPRIGHT) for _ in range(45)]
    lost = max(tick.residual for tick in ticks)
    assert lost > 60.0  # [N]
    tried = [not tick.holding for tick in ticks if tick.residual > 1.0]
    assert sum(tried) <= ON_ITS_WAY
    assert max(tick.residual for tick in ticks if not tick.holding) < 40.0
    assert all(tick.reason for tick in ticks if tick.holding)


class Bistable:
    """A column with the stiffness k(e) = 1 − e for efforts e: beyond 1 it is unstable."""

    def __init__(self):
        self.effort = 0.0


def climb(trust, body, limit, steps):
    """Drives a body up as far as it is trusted to; the effort at the end."""
    for _ in range(steps):
        if not trust.stands(0.0 if body.effort < limit else 1.0, body.effort < limit, UPRIGHT, body.effort):
            body.effort = trust.fall_back(UPRIGHT)
            trust.stands(0.0, True, UPRIGHT, body.effort)
        step = min(trust.allowance, 0.02)
        body.effort += step
        trust.drive(step)
    return body.effort


@pytest.mark.parametrize("limit", [1.0, 0.73, 2.31])
def test_a_limit_point_is_come_as_close_to_as_one_likes_and_not_beyond(limit):
    trust, body = Trust(1.0), Bistable()
    assert climb(trust, body, limit, 400) == pytest.approx(limit, abs=1e-3)
    assert trust.at_edge


def test_gravity_that_has_turned_leaves_nothing_to_go_back_to():
    trust = Trust(1.0)
    assert trust.stands(0.0, True, UPRIGHT, "rest")
    assert trust.fall_back(UPRIGHT) == "rest"
    turned = 9.81 * np.array([np.sin(2 * TURNED), 0.0, -np.cos(2 * TURNED)])
    with pytest.raises(ConvergenceError):
        trust.fall_back(turned)


def test_a_state_from_before_gravity_jumped_is_not_gone_back_to():
    """Moved by as much as gravity has turned by, a body is trusted; but not at rest under the new gravity."""
    trust = Trust(1.0)
    assert trust.stands(0.0, True, UPRIGHT, "rest")
    sideways = np.array([0.0, -9.81, 0.0])
    assert trust.stands(0.5, True, sideways, "on its way")
    with pytest.raises(ConvergenceError):
        trust.fall_back(sideways)


@pytest.mark.parametrize("turn", [0.025, 0.12])
def test_a_body_that_follows_gravity_as_it_turns_is_trusted_however_long_that_goes_on(turn):
    """It asks for as much in each tick as gravity has turned by: at 40 Hz, that is at 57 and 275 °/s."""
    trust = Trust(0.287)
    assert trust.stands(0.0, True, UPRIGHT, 0.0)
    for angle in turn * np.arange(1, 60):
        gravity = 9.81 * np.array([np.sin(angle), 0.0, -np.cos(angle)])
        assert trust.stands(0.9 * 0.287 * turn, True, gravity, angle)
        assert trust.sound and not trust.wild
    for _ in range(ON_ITS_WAY + 1):
        trust.stands(0.9 * 0.287 * turn, True, gravity, angle)
    assert trust.wild  # gravity stands still, and the body does not


def test_a_whole_solve_from_a_wild_state_starts_again_from_the_undeformed_body(balloon, coarse_arm):
    twin = balloon.twin
    twin.reset()
    for _ in range(13):  # ballooned, and no equilibrium
        twin.advance(twin.linearise(UPRIGHT), np.full(6, 0.5 * HIGHEST), 0.01)
    assert not twin.linearise(UPRIGHT).definite
    found = balloon.solve(UPRIGHT, coarse_arm.target_tip)
    assert found.converged and found.reachable


def test_a_body_that_goes_with_care_from_now_on_may_come_to_rest_first():
    """It was on its way for longer than one that goes with care may need: it is no lost one for that."""
    trust, task = Trust(1.0), object()
    trust.attend(task, UPRIGHT)
    assert trust.stands(0.0, True, UPRIGHT, "rest")
    for _ in range(ON_ITS_WAY):
        trust.attend(task, UPRIGHT)
        assert trust.stands(0.02, True, UPRIGHT, "on its way")
    trust.stay_careful()
    for _ in range(CORRECTIONS):
        trust.attend(task, UPRIGHT)
        assert trust.allowance == 0.0
        assert trust.stands(0.02, True, UPRIGHT, "on its way")
    assert not trust.stands(0.02, True, UPRIGHT, "on its way")
    assert trust.fall_back(UPRIGHT) == "rest"
