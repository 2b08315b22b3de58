"""A base that is carried: by an arm from pose to pose, in a hand that trembles; and what is read from a history."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_twin.studies.slender import arm, carried, handheld, loop
from soft_twin.studies.slender.loop import History
from soft_twin.studies.slender.shared import Motion


def course_of(times, tips, gravity=(0.0, 0.0, -9.81), estimated=(0.0, 0.0, -9.81), asked=None):
    count = len(times)
    upright = np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))
    each = [np.tile(vector, (count, 1)) for vector in (gravity, estimated)]
    wound = np.zeros((count, 6)) if asked is None else asked
    axes = np.tile([0.0, 0.0, 1.0], (count, 1))
    return History(times, *each, tips, axes, tips, axes, wound, wound, upright)


def test_the_arm_passes_its_poses_slowly_and_comes_back():
    motion = arm.rounds()
    assert motion.duration == 180.0
    for i, when in enumerate(np.arange(0.0, 90.0, arm.LEG)):
        for round_ in (0.0, 90.0):
            np.testing.assert_allclose(motion.place(when + round_), arm.PLACES[i], atol=1e-12)
            here = Rotation.from_quat(np.roll(motion.attitude(when + round_), -1))
            assert (here.inv() * arm.POSES[i].attitude).magnitude() < 1e-9
    times = np.linspace(0.0, 180.0, 3601)
    speeds = np.linalg.norm(np.gradient([motion.place(t) for t in times], times, axis=0), axis=1)
    assert 0.012 < speeds.max() < 0.020  # [m/s] 1 % of a Panda's largest is 0.017


def test_a_hand_trembles_as_it_should_and_is_jerked():
    motion = handheld.hand()
    times = np.arange(5.0, 11.0, 0.002)
    rates = np.array([motion.angular_velocity(t) for t in times])
    tremor = np.radians(handheld.TREMOR_DEG) * 2.0 * np.pi * handheld.TREMOR_HZ  # [rad/s]
    assert np.abs(rates[:, 1:]).max() == pytest.approx(tremor, rel=0.1)  # about x it turns slowly, too
    spectrum = np.abs(np.fft.rfft(rates - rates.mean(axis=0), axis=0)).sum(axis=1)
    assert np.fft.rfftfreq(len(times), 0.002)[spectrum.argmax()] == pytest.approx(9.0, abs=0.2)
    still = np.array([np.linalg.norm(motion.specific_force(t)) for t in np.arange(0.1, 3.0, 0.1)])
    np.testing.assert_allclose(still, 9.81, atol=0.01)
    for begin in handheld.JERKS:
        moved = motion.place(begin + handheld.JERK_TIME + 0.5) - motion.place(begin)
        assert np.linalg.norm(moved) == pytest.approx(1e-3 * handheld.JERK_MM, rel=0.05)


def test_a_row_says_what_a_course_was():
    times = np.arange(0.02, 20.0, 0.02)
    swing = 1e-3 * np.column_stack([np.sin(times), np.cos(times), np.zeros(len(times))])
    tips = np.array(arm.STRAIGHT) + swing
    tilted = 9.81 * np.array([0.0, np.sin(0.1), -np.cos(0.1)])
    row = arm.row("straight", carried.HELD, course_of(times, tips, estimated=tilted),
                  Motion(times, tips - [0.0, 2e-3, 0.0], tips), Motion(times, -tips, tips))  # fmt: skip
    assert row.rms_mm == pytest.approx(1.0) and row.largest_mm == pytest.approx(1.0)
    assert row.correlation == pytest.approx(1.0) and row.correlation_in_world > 0.999
    assert row.correlation_coarse == pytest.approx(-1.0)
    assert row.apart_mm == pytest.approx(2.0)
    assert row.gravity_deg == pytest.approx(np.degrees(0.1))
    turned = Motion(times, 2.0 * tips[0] - tips, tips)
    away = arm.row("straight", carried.HELD, course_of(times, tips), turned, turned)
    assert away.correlation == pytest.approx(-1.0)


def test_what_the_hand_asks_of_winches_is_their_rate():
    times = np.arange(0.02, handheld.DURATION, 0.02)
    asked = np.zeros((len(times), 6))
    asked[:, 3] = 5e-3 * times
    row = handheld.row(
        "tremor", carried.HELD, course_of(times, np.tile(carried.STRAIGHT, (len(times), 1)), asked=asked)
    )
    assert row.winches_mm_s == pytest.approx(5.0)
    assert row.rms_mm == 0.0


def test_a_robot_in_a_trembling_hand_is_held(same, monkeypatch):
    monkeypatch.setattr(loop, "SETTLED", 2.0)
    monkeypatch.setattr(carried, "BEFORE", 0.2)
    monkeypatch.setattr(handheld, "DURATION", 2.0)
    monkeypatch.setattr(handheld, "STILL", 0.5)
    monkeypatch.setattr(handheld, "SLOWLY", ((0.0, 30.0), (2.0, 0.0)))
    path = str(same.path)
    held, let_be = (carried.errors_mm(handheld.carried(path, path, way), carried.STRAIGHT)
                    for way in (carried.HELD, carried.LET_BE))  # fmt: skip
    assert held.max() < 0.5 * let_be.max()
