import dataclasses

import can
import numpy as np
import pytest

from soft_twin import load_robot
from soft_twin.driving.cables.c610 import decode_feedback
from soft_twin.driving.cables.cable_control import DriverParameters
from soft_twin.driving.cables.homing import HomingParameters
from soft_twin.emulation.c610 import EmulatedC610, MotorParameters
from soft_twin.errors import DeviceError

from ..simulated import DT, SPRING, SimulatedWinches

STEP = np.full(6, 0.005)


@pytest.fixture
def winches():
    winches = SimulatedWinches()
    winches.home()
    return winches


def _currents(winches):
    return np.abs(list(winches.commanded.values()))


MOTORS = {
    "as the gains expect": {},
    "commands act at once": {"prompt": True},
    "cables off": {"spring": 0.0},
    "stiff body": {"spring": 300.0},
    "30 % more friction": {"motor": MotorParameters(lag=0.02 / 1.3)},
    "30 % less friction": {"motor": MotorParameters(lag=0.02 / 0.7)},
    "20 % more inertia": {"motor": MotorParameters(inertia=4.8e-4, lag=0.024)},
    "dry friction": {"motor": MotorParameters(friction=5e-4)},
    "other winding direction": {"direction": -1},
}


@pytest.mark.parametrize("motors", MOTORS.values(), ids=MOTORS.keys())
def test_a_step_of_5_mm_there_and_back_settles_within_150_ms_without_overshoot(motors):
    drive = load_robot("slender").winches
    winch = dataclasses.replace(drive.winch, direction=motors.get("direction", 1))
    drive = dataclasses.replace(drive, winch=winch)
    winches = SimulatedWinches(drive=drive, motor=motors.get("motor"), prompt=motors.get("prompt", False))
    winches.spring = motors.get("spring", SPRING)
    winches.home()
    winches.control.enable()
    winches.run(0.3, np.zeros(6))
    for start, step in ((0.0, STEP), (STEP, -STEP)):
        path = winches.run(0.5, start + step) - start
        outside = np.flatnonzero(np.any(np.abs(path - step) > 0.02 * STEP, axis=1))
        assert DT * (outside[-1] + 1) <= 0.150
        assert (path / step).max() <= 1.03
        np.testing.assert_allclose(path[-50:], path[-50:] * 0.0 + step, atol=0.05e-3)


def test_limp_at_the_start_whatever_is_commanded(winches):
    for _ in range(50):
        winches.tick(STEP)
        assert not _currents(winches).any()
    assert winches.state.mode == "limp"
    assert np.all(winches.motors.displacements == 0.0)


def test_enabling_twitches_once_and_moves_nothing_until_a_command_comes(winches):
    winches.control.enable()
    path = winches.run(0.5)
    assert 5e-5 < path.max() < 3e-4  # tries the direction of each motor
    np.testing.assert_allclose(path[-1], 0.0, atol=1e-5)
    winches.control.relax()
    winches.run(0.1)
    winches.control.enable()
    np.testing.assert_allclose(winches.run(0.09), 0.0, atol=1e-5)
    assert winches.state.mode == "active"


def test_without_commands_the_cables_hold_then_relax(winches):
    winches.control.enable()
    winches.run(0.05, STEP)  # under way
    winches.run(0.12)
    assert winches.state.mode == "hold"
    held = winches.run(0.3)
    assert np.ptp(held[-20:], axis=0).max() < 1e-5
    assert held[-1].max() < STEP[0]
    winches.run(0.6)
    assert winches.state.mode == "limp"
    assert not winches.state.enabled
    assert not _currents(winches).any()
    assert "no command for 1 s" in winches.state.faults[0]


def test_the_watchdog_can_be_set_at_any_time(winches):
    winches.control.enable()
    winches.control.watch(0.3, 0.4)
    winches.run(0.05, STEP)
    winches.run(0.2)
    assert winches.state.mode == "active"
    winches.run(0.25)
    assert winches.state.mode == "limp"
    assert "no command for 0.4 s" in winches.state.faults[0]


@pytest.mark.parametrize(("halted", "mode"), [(0.8, "active"), (1.1, "limp")])
def test_a_command_that_ends_a_halt_of_the_host_drives_only_what_the_watchdog_would_have_left_driven(
    winches, halted, mode
):
    """It is taken before the first tick, and would count as new however long nobody had watched."""
    winches.control.enable()
    winches.run(0.6, STEP)
    assert winches.control.command(STEP, since_tick=halted) == ""
    assert winches.state.mode == mode
    assert any(winches.control.update([], halted + DT).values()) == (mode == "active")


def test_a_command_ends_the_hold(winches):
    winches.control.enable()
    winches.run(0.3)
    assert winches.state.mode == "hold"
    winches.tick(STEP)
    assert winches.state.mode == "active"


def test_a_stop_is_latched(winches):
    winches.control.enable()
    winches.run(0.05, STEP)
    winches.control.stop()
    winches.tick(STEP)
    assert winches.state.mode == "stopped"
    assert not _currents(winches).any()
    with pytest.raises(DeviceError, match="stop"):
        winches.control.enable()
    winches.control.relax()
    assert winches.state.mode == "stopped"
    winches.control.clear_stop()
    assert winches.state.mode == "limp"
    winches.control.enable()
    assert winches.state.mode == "active"


@pytest.mark.parametrize("bad", [np.full(6, np.nan), np.zeros(5), np.array([0, 0, np.inf, 0, 0, 0.0])])
def test_unusable_commands_change_nothing_and_are_named(winches, bad):
    winches.control.enable()
    winches.run(0.5, np.full(6, 0.001))
    winches.tick(bad)
    assert np.abs(winches.run(0.05) - 0.001).max() < 1e-5
    assert "refused" in winches.state.faults[0]
    winches.tick(np.full(6, 0.001))
    assert winches.state.faults == ()  # the counters remember it


def test_unusable_commands_do_not_feed_the_watchdog(winches):
    winches.control.enable()
    winches.run(1.2, np.full(6, np.nan))
    assert winches.state.mode == "limp"


def test_commands_beyond_the_limits_stop_at_them(winches):
    winches.control.enable()
    path = winches.run(1.0, np.full(6, 1.0))
    high = winches.drive.cable_limits.displacement[1]
    assert path.max() < high + 1e-4
    assert path[-1].min() > high - 1e-4
    rates = np.diff(path, axis=0) / DT
    assert rates.max() < 1.25 * winches.drive.cable_limits.rate
    assert winches.state.counters["displacement"] > 0


def test_currents_never_exceed_their_limit(winches):
    rng = np.random.default_rng(0)
    winches.control.enable()
    for _ in range(300):
        winches.tick(rng.uniform(-1.0, 1.0, 6))
        assert _currents(winches).max() <= winches.drive.winch.current_limit


def test_a_silent_motor_gets_no_current_and_is_then_a_fault(winches):
    winches.control.enable()
    winches.run(0.06, STEP)
    winches.silent = {3}
    winches.run(0.03, STEP)
    assert winches.commanded[3] == 0.0
    assert winches.state.mode == "active"
    winches.run(0.3, STEP)
    assert winches.state.mode == "fault"
    assert "motor 3 (cable_3)" in winches.state.faults[0]
    assert not _currents(winches).any()
    with pytest.raises(DeviceError, match="motor 3"):
        winches.control.enable()
    winches.silent = set()
    winches.tick()
    with pytest.raises(DeviceError, match="turned unseen"):
        winches.control.enable()
    winches.control.home()
    winches.control.enable()
    assert winches.state.mode == "active"
    assert winches.state.faults == ()


def test_feedback_that_comes_late_but_whole_is_no_loss(winches):
    winches.run(0.6)
    winches.control.enable()
    winches.run(0.3, np.full(6, 0.001))
    winches.hold_back(0.06)
    winches.run(2.0, STEP)
    assert winches.state.mode == "active"
    assert winches.state.counters["losses"] == 0
    assert winches.state.counters["coasting"] > 0
    np.testing.assert_allclose(winches.motors.displacements, STEP, atol=5e-5)


def test_motion_while_feedback_is_lost_makes_the_position_unknown(winches):
    winches.run(0.6)
    winches.control.enable()
    winches.run(0.06, STEP)
    winches.silent = {3}
    winches.run(0.06, STEP)
    winches.silent = set()
    winches.run(0.05, STEP)
    assert winches.state.mode == "position unknown"
    assert "motor 3 (cable_3)" in winches.state.faults[0]
    assert "home" in winches.state.faults[0]


def test_motors_that_never_answer_are_a_fault():
    winches = SimulatedWinches()
    winches.silent = {1, 2, 3, 4, 5, 6}
    winches.run(0.4)
    assert winches.state.mode == "fault"
    assert len(winches.state.faults) == 6


def test_home_makes_the_present_positions_zero(winches):
    winches.control.enable()
    winches.run(0.5, STEP)
    with pytest.raises(DeviceError, match="relax"):
        winches.control.home()
    winches.control.relax()
    winches.run(1.0)
    winches.control.home()
    np.testing.assert_allclose(winches.state.displacements, 0.0, atol=1e-12)


def test_tension_is_estimated_from_the_current(winches):
    winches.control.enable()
    winches.run(1.0, np.full(6, 0.002))
    # at rest the motor balances the emulated spring, but for the drum's dry friction
    friction = winches.motors.parameters.friction / winches.drive.winch.radius
    np.testing.assert_allclose(winches.state.tensions, SPRING * 0.002, atol=1.2 * friction)


def test_a_lost_bus_is_a_fault_that_enabling_does_not_clear(winches):
    winches.control.enable()
    winches.control.lose_device("CAN bus gone: unplugged")
    assert winches.state.mode == "fault"
    with pytest.raises(DeviceError, match="unplugged"):
        winches.control.enable()


def test_a_motor_that_answers_backwards_is_found_before_anything_moves(winches):
    winches.motors.wiring[1] = -1
    winches.control.enable()
    path = winches.run(0.3, STEP)
    assert winches.state.mode == "fault"
    assert "motor 2 (cable_2) answers backwards" in winches.state.faults[0]
    assert np.abs(path).max() < 4e-4
    assert np.abs(path[:, 1]).max() < 1.8e-4


@pytest.mark.parametrize("cable", [0, 5])
def test_a_stalled_motor_is_named_and_everything_is_relaxed(winches, cable):
    winches.control.enable()
    winches.run(0.5, np.full(6, 0.001))
    winches.motors.stalled[cable] = True
    winches.run(0.3, STEP)
    assert winches.state.mode == "fault"
    assert winches.state.faults == tuple(
        fault for fault in winches.state.faults if f"(cable_{cable + 1}) stalled" in fault
    )
    assert not _currents(winches).any()
    winches.motors.stalled[cable] = False
    winches.control.enable()
    np.testing.assert_allclose(winches.run(1.0, STEP)[-1], STEP, atol=5e-5)


def test_a_motor_that_starts_to_turn_backwards_is_stopped_within_millimetres(winches):
    winches.control.enable()
    winches.run(0.5, np.full(6, 0.001))
    winches.motors.wiring[2] = -1
    path = winches.run(1.0, STEP)
    assert winches.state.mode == "fault"
    assert "motor 3 (cable_3)" in winches.state.faults[0]
    assert np.abs(path[:, 2] - 0.001).max() < 0.006


def test_an_encoder_that_jumps_means_that_the_cables_are_to_be_homed(winches):
    winches.control.enable()
    winches.run(0.5, np.full(6, 0.001))
    winches.motors.jump(3, 3000)
    winches.run(0.1)
    assert winches.state.mode == "position unknown"
    assert "motor 4 (cable_4): angle jumped" in winches.state.faults[0]
    with pytest.raises(DeviceError, match="home"):
        winches.control.enable()
    winches.control.home()
    winches.control.enable()
    assert winches.state.mode == "active"


def test_two_motors_with_one_id_are_found_before_anything_moves(winches):
    winches.motors.motor_ids = (1, 2, 3, 4, 5, 5)
    winches.motors.jump(5, 4000)
    winches.run(0.1)
    assert winches.state.mode == "position unknown"
    assert any("two motors with one id" in fault for fault in winches.state.faults)


def test_a_blocked_robot_is_not_pulled_at_for_long(winches):
    winches.control.enable()
    winches.run(0.5, np.full(6, 0.001))
    winches.spring = 5000.0  # [N/m] of a cable whose other end does not give
    winches.run(1.0, np.full(6, 0.004))
    assert winches.state.mode == "fault"
    assert "the robot is blocked" in winches.state.faults[0]


def test_slack_is_taken_up_until_every_cable_is_just_taut(winches):
    slack = np.array([0.0, 0.0005, 0.001, 0.002, 0.003, 0.004])
    winches.slack = slack
    winches.control.take_up_slack()
    path = winches.run(3.6)
    taut_at = slack + winches.control.parameters.homing.tension / SPRING
    assert winches.state.mode == "limp"  # nobody has commanded anything since
    assert np.abs(np.max(path, axis=0) - taut_at).max() < 1e-3
    assert np.all(np.diff(path, axis=0) / DT < 0.02)
    zero = winches.motors.displacements - winches.state.displacements
    np.testing.assert_allclose(zero, taut_at, atol=1e-3)


def test_a_cable_that_is_off_its_drum_is_named_when_slack_is_taken_up():
    winches = SimulatedWinches(DriverParameters(homing=HomingParameters(travel=0.005)))
    winches.run(0.1)
    winches.slack = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    winches.control.take_up_slack()
    path = winches.run(2.8)
    assert winches.state.mode == "fault"
    assert "motor 6 (cable_6) found no tension" in winches.state.faults[0]
    assert path[:, 5].max() < 0.006


def test_slack_is_not_taken_up_while_the_motors_are_enabled_or_stopped(winches):
    winches.control.enable()
    with pytest.raises(DeviceError, match="relax"):
        winches.control.take_up_slack()
    winches.control.stop()
    with pytest.raises(DeviceError, match="stop"):
        winches.control.take_up_slack()


def test_a_stream_of_commands_is_a_line_not_stairs(winches):
    winches.control.enable()
    winches.run(0.3, np.zeros(6))
    rate, rates, tensions = 0.005, [], []
    for tick in range(250):
        winches.tick(np.full(6, rate * DT * tick) if tick % 3 == 0 else None)
        rates.append(winches.motors.rates[0])
        tensions.append(winches.state.tensions[0])
    np.testing.assert_allclose(rates[100:], rate, atol=0.3 * rate)
    # the estimate is that of the spring, not of the motor's own to and fro
    np.testing.assert_allclose(tensions[100:], SPRING * rate * DT * np.arange(100, 250), atol=0.15)
    assert winches.state.counters["acceleration"] < 25


def test_calibrated_cables_move_as_far_as_they_are_told():
    robot = load_robot("slender")
    calibration = {"direction": -1, "scale": 1.05, "offset": -0.001}
    first, second, *others = robot.description.cables
    cables = (first, second.model_copy(update=calibration), *others)
    robot = dataclasses.replace(robot, description=robot.description.model_copy(update={"cables": cables}))
    winches = SimulatedWinches(drive=robot.winches)
    winches.motors = EmulatedC610.of(robot)
    winches.run(0.6)
    winches.control.home()
    np.testing.assert_allclose(winches.state.displacements, [0.0, -0.001, 0.0, 0.0, 0.0, 0.0], atol=1e-9)
    winches.control.enable()
    winches.run(1.0, np.full(6, 0.004))
    np.testing.assert_allclose(winches.motors.displacements, 0.004, atol=1e-5)
    assert winches.state.mode == "active"


def test_each_cable_keeps_to_limits_of_its_own():
    drive = load_robot("slender").winches
    highest = np.array([0.002, 0.004, 0.006, 0.008, 0.010, 0.012])
    limits = dataclasses.replace(
        drive.cable_limits, displacement=(-highest, highest), tension=(np.zeros(6), np.full(6, 4.0))
    )
    winches = SimulatedWinches(drive=dataclasses.replace(drive, cable_limits=limits))
    winches.spring = 0.0
    winches.home()
    winches.control.enable()
    winches.run(0.5, np.full(6, 0.1))
    np.testing.assert_allclose(winches.state.displacements, highest, atol=1e-4)
    winches.run(0.8, np.full(6, -0.1))
    np.testing.assert_allclose(winches.state.displacements, -highest, atol=1e-4)


@pytest.mark.parametrize("goes_on", [False, True])
@pytest.mark.parametrize("stood", [1, 3])
def test_time_that_stands_still_between_two_looks_of_a_late_host_is_no_motor_against_its_current(
    winches, stood, goes_on
):
    """Rotors say at once that they do not turn; then they turn as fast as before, or begin from rest."""
    winches.control.enable()
    winches.run(0.2, np.zeros(6))
    winches.run(0.1, np.full(6, 0.010))
    winches.motors.step(DT, np.zeros(6))
    before, turned = winches.motors.feedback(), winches.motors.rates.copy()
    winches.motors.halt()
    frames = before + stood * winches.motors.feedback()
    winches.motors.rates[:] = goes_on * turned
    messages = [can.Message(arbitration_id=i, data=data, is_extended_id=False) for i, data in frames]
    winches.control.update(map(decode_feedback, messages), (1 + stood) * DT)
    assert winches.state.faults == ()
    winches.run(0.3, np.full(6, 0.010))
    np.testing.assert_allclose(winches.state.displacements, 0.010, atol=1e-4)


class LateBody(SimulatedWinches):
    """A stiff body: the neck's. It is computed so seldom that its pulls come in steps, as on a busy machine.

    Only where a winch lets cable out its pull falls at once, as that of emulated robots does.
    """

    every, force = 15, 1100.0  # ticks, [N/m]

    def __init__(self, motor):
        super().__init__(drive=load_robot("neck").winches, motor=motor)
        self._ticks, self._felt = 0, np.zeros(3)

    def tensions(self):
        self._ticks += 1
        if self._ticks % self.every == 0:
            self._felt = self.motors.displacements.copy()
        return self.force * np.minimum(self._felt, self.motors.displacements).clip(0.0)


@pytest.mark.parametrize(("friction", "phase"), [(0.7, 0), (1.3, 9)])
def test_a_winch_that_a_stiff_body_pulls_back_when_it_stops_is_not_taken_for_a_faulty_one(friction, phase):
    winches = LateBody(MotorParameters(lag=0.02 / friction))
    winches.home()
    winches.control.enable()
    winches.run(0.5 + phase * DT, np.zeros(3))
    for there in ([0.02, -0.008, -0.008], [0.0, 0.0, 0.0], [0.04, 0.01, -0.02]):
        winches.run(0.8, np.array(there))
        assert winches.state.faults == ()
        np.testing.assert_allclose(winches.state.displacements, there, atol=2e-4)


@pytest.mark.parametrize("halt", [0.028, 0.048, 0.08])
@pytest.mark.parametrize(("robot", "spring"), [("slender", 600.0), ("neck", 3000.0)])
def test_a_cable_is_held_while_what_a_halted_host_has_missed_comes_in(robot, spring, halt):
    """The motors live on through the halt; what they say of it comes some milliseconds later. Let go, a taut cable
    turned its winch out meanwhile."""
    winches = SimulatedWinches(drive=load_robot(robot).winches)
    winches.home()
    winches.control.enable()
    winches.spring = spring
    target = np.full(len(winches.control.motor_ids), 0.008)
    winches.run(0.5, target)
    held = winches.motors.displacements.copy()
    winches.hold_back(0.012)
    winches.tick(target, late=halt, steps=1 + round(halt / DT))
    path = winches.run(0.2, target)
    assert np.abs(path - held).max() < 1e-4
    assert winches.state.mode == "active" and not winches.state.faults


def test_a_motor_that_a_host_listens_to_in_vain_is_let_go_in_time(winches):
    winches.home()
    winches.control.enable()
    winches.spring = 600.0
    winches.run(0.5, np.full(6, 0.008))
    motor = winches.control.motor_ids[2]
    winches.silent = {motor}
    told = []
    for _ in range(10):
        winches.tick(np.full(6, 0.008))
        told.append(abs(winches.commanded[motor]))
    assert min(told[:3]) > 0.0 == max(told[5:])
