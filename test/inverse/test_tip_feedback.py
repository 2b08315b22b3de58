"""A tip sensor against a robot that is not its twin: by the loop's own equations, and on finite elements."""

from collections import deque

import numpy as np
import pytest

import soft_twin
from soft_twin.errors import InputError
from soft_twin.inverse.targets import pose_target
from soft_twin.inverse.tip_feedback import SAFE_BANDWIDTHS, TipFeedback, TipFeedbackParameters

DT, LENGTH = 0.02, 0.1
TARGET = np.array([0.02, -0.01, 0.09])
LACKS = np.array([0.002, 0.003, -0.001])


class Robot:
    """Its twin comes to wherever it is led, at once but for `reach` [m] around the origin; the robot does `gain` times
    as much, and `lacks` (3,), after a lag [s]."""

    def __init__(self, gain=1.0, lacks=LACKS, lag=0.1, reach=np.inf):
        self.feedback = TipFeedback(LENGTH)
        self.twin = self.tip = TARGET
        self._gain, self.lacks, self._lag, self._reach = gain, lacks, lag, reach

    def run(self, seconds, target=TARGET, seen=True, follows=True):
        """Let time pass."""
        for _ in range(round(seconds / DT)):
            led = target + self.feedback.update(self.twin, DT, follows)
            self.twin = led * min(1.0, self._reach / np.linalg.norm(led))
            self.tip = self.tip - np.expm1(-DT / self._lag) * (self._gain * self.twin + self.lacks - self.tip)
            if seen:
                self.feedback.measure(self.tip)
        return self


@pytest.mark.parametrize("gain", [0.85, 1.0, 1.1])
@pytest.mark.parametrize("lag", [0.02, 0.3])
def test_a_robot_that_is_not_its_twin_comes_to_the_target_nevertheless(gain, lag):
    robot = Robot(gain, lag=lag).run(6.0)
    np.testing.assert_allclose(robot.tip, TARGET, atol=2e-5)
    assert np.linalg.norm(robot.twin - TARGET) > 1e-3


def swing(bandwidth):
    """How far [m] a robot that moves twice as far as its twin, late and seen late, still swings after 13 s."""
    robot = Robot(gain=2.0, lag=0.3)
    robot.feedback = TipFeedback(LENGTH, TipFeedbackParameters(bandwidth=bandwidth))
    seen, path, target = deque([TARGET] * round(0.15 / DT)), [], np.array([0.005, 0.0, 0.002])
    for _ in range(round(15.0 / DT)):
        robot.run(DT, target, seen=False)
        seen.append(robot.tip)
        robot.feedback.measure(seen.popleft())
        path.append(robot.tip)
    return np.ptp(path[-100:], axis=0).max()


def test_the_safe_bandwidths_leave_a_robot_in_rest_that_half_as_much_again_makes_swing():
    assert max(map(swing, SAFE_BANDWIDTHS)) < 0.3e-3 < 0.6e-3 < swing(1.5 * SAFE_BANDWIDTHS[1])


def test_a_robot_that_is_its_twin_is_left_alone_while_it_moves():
    robot, largest = Robot(lacks=np.zeros(3)), 0.0
    for i in range(200):
        robot.run(DT, TARGET + 0.02 * np.sin(0.03 * i) * np.array([1.0, 0.0, 0.0]))
        largest = max(largest, np.abs(robot.feedback.error).max())
    assert largest < 1e-4


def wandering(covariance, told, seed=3, seconds=200.0):
    """Root mean square by which d̂ is off [m], (3,), where what the twin lacks wanders by 0.1 mm in a root second and is
    measured with a diagonal covariance (3, 3); `told`: whether that is said."""
    rng, feedback = np.random.default_rng(seed), TipFeedback(LENGTH)
    lacks, misses = np.zeros(3), []
    for _ in range(round(seconds / DT)):
        lacks = lacks + rng.normal(0.0, 1e-4 * np.sqrt(DT), 3)
        noise = rng.normal(0.0, np.sqrt(np.diag(covariance)))
        feedback.measure(TARGET + lacks + noise, covariance if told else None)
        feedback.update(TARGET, DT)
        misses.append(feedback.error - lacks)
    return np.sqrt((np.array(misses) ** 2).mean(axis=0))


def test_a_tracker_that_is_uncertain_in_a_direction_is_followed_more_slowly_there():
    covariance = np.diag([1.5e-3, 1e-4, 0.0]) ** 2
    told, untold = wandering(covariance, True), wandering(covariance, False)
    assert told[0] < 0.75 * untold[0]
    np.testing.assert_allclose(told[1:], untold[1:], rtol=0.05)


def test_what_wanders_is_followed_at_a_bandwidth_that_falls_as_the_deviation_rises():
    """By how much a step is followed within a second: 1 − exp(−ω), turned by 40° about z."""
    turned = np.linalg.qr(np.array([[0.77, -0.64, 0.0], [0.64, 0.77, 0.0], [0.0, 0.0, 1.0]]))[0]
    covariance = turned @ np.diag([2e-3, 1e-3, 3e-4]) ** 2 @ turned.T
    feedback = TipFeedback(LENGTH, TipFeedbackParameters(rate=np.inf, lag=1e-9))
    for _ in range(round(1.0 / DT)):
        feedback.measure(TARGET + 1e-3 * turned.sum(axis=1), covariance)
        feedback.update(TARGET, DT)
    found = turned.T @ feedback.error / 1e-3
    np.testing.assert_allclose(found, 1.0 - np.exp(-2.0 / np.array([4.0, 2.0, 1.0])), rtol=1e-6)


@pytest.mark.parametrize("covariance", [np.eye(2), np.full((3, 3), np.nan)])
def test_a_covariance_that_is_none_is_refused(covariance):
    with pytest.raises(InputError, match="covariance"):
        TipFeedback(LENGTH).measure(TARGET, covariance)


def test_nothing_winds_up_while_limits_keep_the_twin_from_its_target():
    kept, free = Robot(reach=0.08), Robot()
    kept.run(20.0)
    np.testing.assert_allclose(kept.feedback.error, LACKS, atol=1e-6)
    near = np.array([0.01, 0.0, 0.05])
    np.testing.assert_allclose(kept.run(3.0, near).tip, free.run(20.0).run(3.0, near).tip, atol=2e-5)


def pushed(robot, by, seconds):
    """The robot's tip goes elsewhere (3,) [m] within this time, for good."""
    for _ in range(round(seconds / DT)):
        robot.lacks, robot.tip = robot.lacks + by * DT / seconds, robot.tip + by * DT / seconds
        robot.run(DT)


def test_a_jump_counts_only_where_it_stays():
    """Eleven millimetres within 40 ms: less than three lengths a second."""
    robot = Robot().run(5.0)
    before = robot.feedback.error.copy()
    pushed(robot, np.array([0.011, 0.0, 0.0]), 0.04)
    robot.run(0.1)
    assert robot.feedback.refusal == "the measured tip has jumped by 11 mm"
    np.testing.assert_allclose(robot.feedback.error, before, atol=3e-4)
    robot.run(6.0)
    assert robot.feedback.refusal == ""
    np.testing.assert_allclose(robot.tip, TARGET, atol=2e-5)


def test_a_tick_that_comes_late_opens_the_loop_and_leads_by_its_share_only():
    """The solver has been halted for two seconds; what is seen then may be a motion, and no knock."""
    robot = Robot().run(5.0).run(DT, seen=False)
    before = robot.feedback.error.copy()
    robot.feedback.update(robot.twin, 2.0)
    assert not robot.feedback.closed
    assert np.linalg.norm(robot.feedback.error - before) < 0.1 * np.linalg.norm(before)
    robot.feedback.measure(robot.tip + np.array([0.012, 0.0, 0.0]))
    robot.feedback.update(robot.twin, DT)
    assert robot.feedback.refusal == "the measured tip has jumped by 12 mm"


AWAY = np.array([0.0, 0.012, 0.0])


def knocked():
    """A robot whose tracker has been displaced within one of its periods, while it was followed."""
    robot, see = Robot().run(5.0), TipFeedback.measure
    robot.feedback.measure = lambda tip: see(robot.feedback, tip + AWAY)
    return robot


def test_a_tracker_that_is_displaced_leads_nowhere_until_it_is_back():
    robot = knocked().run(20.0)
    assert not robot.feedback.closed and "12 mm at once: is the tracker" in robot.feedback.refusal
    np.testing.assert_allclose(robot.feedback.error, 0.0, atol=1e-6)
    robot.lacks = 3.0 * LACKS  # the base has turned meanwhile
    robot.run(2.0)
    robot.feedback.measure = TipFeedback.measure.__get__(robot.feedback)
    robot.run(6.0)
    assert robot.feedback.refusal == "" and robot.feedback.closed
    np.testing.assert_allclose(robot.tip, TARGET, atol=2e-5)


@pytest.mark.parametrize("cause", [{"seen": False}, {"follows": False}])
def test_a_displaced_tracker_stays_out_though_it_was_silent_or_the_drives_were(cause):
    robot = knocked().run(3.0).run(0.5, **cause).run(8.0)
    assert not robot.feedback.closed and "12 mm at once: is the tracker" in robot.feedback.refusal
    np.testing.assert_allclose(robot.feedback.error, 0.0, atol=1e-4)
    robot.run(0.5, **cause)
    robot.feedback.measure = TipFeedback.measure.__get__(robot.feedback)  # put back meanwhile
    robot.run(8.0)
    assert robot.feedback.refusal == "" and robot.feedback.closed
    np.testing.assert_allclose(robot.tip, TARGET, atol=2e-5)


def test_a_displaced_tracker_is_followed_where_it_is_when_all_begins_anew():
    robot = knocked().run(3.0)
    robot.feedback.reset()
    robot.run(8.0)
    assert robot.feedback.closed
    np.testing.assert_allclose(robot.tip, TARGET - AWAY, atol=2e-5)


def test_single_poses_of_something_else_are_of_no_account():
    robot = Robot().run(5.0)
    for i in range(100):
        robot.feedback.measure(robot.tip + (AWAY if i % 7 == 0 else 0.0))
        robot.run(DT, seen=False)
    np.testing.assert_allclose(robot.tip, TARGET, atol=2e-5)
    assert robot.feedback.closed


def test_much_that_a_sensor_says_at_first_is_followed_late_and_slowly():
    """A frame that is 18 mm off: half a second for whoever looks, and then 10 mm/s, a tenth of the length."""
    robot, leads = Robot(lacks=np.array([0.018, 0.0, 0.0])), [0.0]
    robot.tip = TARGET + robot.lacks
    for _ in range(200):
        robot.run(DT)
        leads.append(np.linalg.norm(robot.feedback.error))
    steps = np.diff(leads)
    assert max(leads[:25]) == 0.0 and steps.max() == pytest.approx(0.1 * LENGTH * DT)
    np.testing.assert_allclose(robot.run(6.0).tip, TARGET, atol=2e-5)


def test_no_time_between_two_ticks_leads_nowhere():
    robot = Robot().run(5.0)
    before = robot.feedback.error.copy()
    np.testing.assert_array_equal(robot.feedback.update(robot.twin, 0.0), -before)
    first = TipFeedback(LENGTH)
    first.measure(TARGET + LACKS)
    np.testing.assert_array_equal(first.update(TARGET, 0.0), 0.0)


def test_what_is_further_off_than_a_robot_sags_is_never_followed():
    robot = Robot(lacks=np.array([0.0, 0.0, 0.025]))
    robot.tip = TARGET + robot.lacks
    robot.run(5.0)
    assert "25 mm from the twin's" in robot.feedback.refusal
    np.testing.assert_array_equal(robot.feedback.error, 0.0)


def test_a_single_wrong_measurement_does_nothing():
    robot = Robot().run(5.0)
    before = robot.feedback.error.copy()
    for wrong in (robot.tip + 0.02, 1e3 * robot.tip, -robot.tip):
        robot.feedback.measure(wrong)
        robot.feedback.update(robot.twin, DT)
        assert robot.feedback.refusal
    np.testing.assert_allclose(robot.feedback.error, before, atol=1e-5)


@pytest.mark.parametrize("tip", [[np.nan, 0.0, 0.0], [0.0, 0.1], [np.inf, 0.0, 0.0]])
def test_nonsense_is_refused(tip):
    with pytest.raises(InputError, match="measured tip"):
        TipFeedback(LENGTH).measure(tip)


@pytest.mark.parametrize("cause", [{"seen": False}, {"follows": False}])
def test_a_loop_that_is_open_forgets_slowly_and_closes_by_itself(cause):
    robot = Robot().run(5.0)
    robot.run(0.5 + 3.0 * TipFeedbackParameters().fading, **cause)
    assert not robot.feedback.closed
    assert 0.02 < np.linalg.norm(robot.feedback.error) / np.linalg.norm(LACKS) < 0.1
    robot.run(6.0)
    assert robot.feedback.closed
    np.testing.assert_allclose(robot.tip, TARGET, atol=2e-5)


def test_a_controller_is_led_and_its_target_stays(ringed_twin):
    ringed_twin.reset()
    controller = soft_twin.load_robot("slender").build_controller(ringed_twin)
    controller.enable(True)
    target, offset, gravity = np.array([0.01, 0.0, 0.097]), np.array([0.001, -0.002, 0.0]), [0.0, -9.81, 0.0]
    controller.set_target(target)
    controller.lead_by(offset)
    tick = [controller.update(gravity) for _ in range(40)][-1]
    np.testing.assert_array_equal(controller.target, target)
    np.testing.assert_allclose(tick.tip, target + offset, atol=1e-4)
    assert tick.error < 1e-4
    controller.lead_by(np.zeros(3))
    assert np.linalg.norm([controller.update(gravity) for _ in range(40)][-1].tip - target) < 1e-4


def test_only_the_tip_is_led(ringed_twin):
    ringed_twin.reset()
    controller, ring = soft_twin.load_robot("slender").build_controller(ringed_twin), [0.004, 0.0, 0.049]
    controller.enable(True)
    controller.lead_by(np.array([0.001, 0.0, 0.0]))
    controller.aim(pose_target(controller.inverse, ring, "ring"))
    tick = [controller.update([0.0, 0.0, -9.81]) for _ in range(40)][-1]
    np.testing.assert_allclose(tick.reached, ring, atol=1e-4)
