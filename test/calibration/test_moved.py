"""The friction of cables by a motion of the winches: slopes, the truth that comes back, and what says nothing of it."""

import re

import numpy as np
import pytest
from known_release import MESHES

from soft_twin.app.cli import main
from soft_twin.calibration.moved import FRICTION, moved_twin
from soft_twin.calibration.release import Release, read_release
from soft_twin.calibration.released import released_twin
from soft_twin.calibration.tune import DAMPING_DEVIATION, tune
from soft_twin.errors import ConvergenceError, RecordingError
from soft_twin.recording.simulated import SimulatedRecording
from soft_twin.studies.slender.shared import variant

GRAVITY, DT, STEPS = np.array([0.0, 0.0, -9.81]), 0.05, 12
FALLING = np.array([0.0, -9.81, 0.0])
TRUTH = {"young_modulus": 0.8e6, "mass_damping": 0.5, "stiffness_damping": 0.31, "density": 1150.0, FRICTION: 0.17}
ALL = list(TRUTH)


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    damping = {"rayleigh_mass": TRUTH["mass_damping"], "rayleigh_stiffness": TRUTH["stiffness_damping"]}
    return variant(tmp_path_factory.mktemp("robot"), "slender", {"body.damping": damping, "body.meshes": MESHES})


def release(robot, wound, gravity=GRAVITY):
    """A motion whose tips are not known yet; `wound`: (t, c) [m]."""
    times = DT * np.arange(len(wound))
    columns = dict(zip(robot.cable_names, wound.T, strict=True))
    return Release(times, np.tile([0.0, 0.0, 0.1], (len(times), 1)), gravity, columns)


def bending(winch=3):
    """(t, 6) a winch pulls 3 mm and lets go, the others are let out."""
    times = np.arange(STEPS + 1) / STEPS
    wound = -0.004 * np.minimum(4.0 * times, 1.0)[:, None] * np.ones(6)
    wound[:, winch] = 0.003 * (1.0 - np.abs(2.0 * times - 1.0))
    return wound


@pytest.fixture(scope="module")
def moved(robot):
    """What the twin itself does with TRUTH."""
    plan = release(robot, bending())
    twin = moved_twin(robot.path, plan, DT)
    twin.set(TRUTH)
    return Release(plan.times, np.vstack([plan.tips[:1], twin.positions()[:, 0]]), GRAVITY, plan.wound)


def test_with_slack_cables_it_is_a_release_and_friction_is_not_seen(robot):
    slack = release(robot, np.full((7, 6), -0.01), FALLING)
    ours, exact = moved_twin(robot.path, slack, DT), released_twin(robot.path, slack, DT)
    for twin in (ours, exact):
        twin.set(TRUTH)
    (found, slopes), (expected, exact_slopes) = ours.positions_and_slopes(ALL), exact.positions_and_slopes(ALL)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    by_logarithms = np.array(list(TRUTH.values()))
    np.testing.assert_allclose(slopes * by_logarithms, exact_slopes * by_logarithms, atol=2e-5)
    assert np.abs(exact_slopes[..., :4] * by_logarithms[:4]).max() > 1e-3 and np.abs(slopes[..., 4]).max() < 1e-9


def test_steps_that_are_too_long_for_fast_winches_are_refused(robot):
    """A step that is not solved ends where the search came: that takes energy away, which friction would be blamed
    for."""
    wound = np.full((6, 6), -0.002)
    wound[1::2, 3], wound[::2, 0] = 0.02, 0.018
    with pytest.raises(ConvergenceError, match="of 5 steps of 0.05 s ended before they were solved: .* shorter"):
        moved_twin(robot.path, release(robot, wound), DT).positions()


def test_slopes_by_friction_are_those_of_differences_of_fourth_order(robot, moved):
    twin = moved_twin(robot.path, moved, DT)
    twin.set(TRUTH)
    slopes = twin.positions_and_slopes([FRICTION])[1][..., 0]
    assert twin.parameters[FRICTION].value == TRUTH[FRICTION]
    finer = twin.parameters[FRICTION].differences(twin.positions)
    assert np.abs(TRUTH[FRICTION] * finer).max() > 1e-3  # m
    np.testing.assert_allclose(slopes, finer, atol=2e-5 * np.abs(finer).max())


def test_the_friction_that_nobody_told_comes_back_and_predicts_another_motion(robot, moved):
    found = tune(robot.path, moved, dt=DT, friction=True)
    assert found.values[FRICTION] == pytest.approx(0.17, rel=5e-3) and found.uncertainties[FRICTION] < 0.2
    assert "cable_friction: 0.1" in found.in_words()
    other = moved_twin(robot.path, release(robot, bending(5), FALLING), DT)
    tips = []
    for values in (TRUTH, found.values, {FRICTION: 0.0}):
        other.set(values)
        tips.append(other.positions())
    misses = [np.abs(each - tips[0]).max() for each in tips[1:]]
    assert misses[0] < 1e-5 < 1e-4 < misses[1]  # m


def test_friction_is_as_uncertain_as_a_damping_that_is_a_little_off_makes_it(robot, moved, tmp_path):
    off = (1.0 + DAMPING_DEVIATION) * TRUTH["stiffness_damping"]
    damping = {"rayleigh_mass": TRUTH["mass_damping"], "rayleigh_stiffness": off}
    other = variant(tmp_path, "slender", {"body.damping": damping, "body.meshes": MESHES})
    found = tune(other.path, moved, dt=DT, friction=True)
    shift = abs(np.log(found.values[FRICTION] / TRUTH[FRICTION]))
    assert shift > 0.01 and found.uncertainties[FRICTION] > 0.9 * shift
    told = float(re.search(r"1 % of rayleigh_stiffness is ([\d.]+) % of it", found.in_words())[1])
    assert told * DAMPING_DEVIATION == pytest.approx(shift, rel=0.15)


@pytest.mark.parametrize("wound", [0.0, -0.01])
def test_a_release_with_winches_that_hold_says_nothing_of_friction(robot, wound):
    held = release(robot, np.full((STEPS + 1, 6), wound), FALLING)
    with pytest.raises(RecordingError, match="friction is not seen in it: twice as much moves the tip by"):
        tune(robot.path, held, dt=DT, friction=True)


def test_a_recorded_motion_is_read_with_its_winches(robot, moved, tmp_path, capsys):
    path = tmp_path / "moved.mcap"
    names = robot.cable_names[::-1]
    with SimulatedRecording(path, robot) as recording:
        for step, (when, tip) in enumerate(zip(moved.times, moved.tips, strict=True)):
            recording.vector("gravity", when, GRAVITY)
            recording.pose("tip/pose", when, tip, np.array([0.0, 0.0, 1.0]))
            recording.joints("cables/state", when, names, bending()[step, ::-1].copy(), np.zeros(6))
    seen = read_release(path, "slender")
    np.testing.assert_allclose(seen.wound_at_steps(DT, robot.cable_names), bending()[1:], atol=1e-12)
    calibrate = ["calibrate", str(robot.path), str(path), "--dt", f"{DT}", "--simulations", "1", "--friction"]
    calibrate += ["--out", str(tmp_path / "out")]
    assert main(calibrate) == 0
    assert "cable_friction: 0.05" in capsys.readouterr().out
    assert main([*calibrate, "--grid"]) == 2
    assert "leave one out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("told", "says"),
    [
        (lambda when: when < 0.37, "nothing from 0.35 to 0.60 s after the release"),
        (lambda when: when > 0.23, "nothing from 0.00 to 0.25 s after the release"),
        (lambda when: not 0.12 < when < 0.38, "nothing from 0.10 to 0.40 s after the release"),
        (lambda when: when == 0.0, "nothing from 0.00 to 0.60 s after the release"),
        (lambda when: not 0.12 < when < 0.19, None),
    ],
    ids=["until", "from", "gap", "once", "a late one"],
)
def test_winches_that_nobody_saw_for_a_while_are_not_guessed(robot, moved, tmp_path, told, says):
    path = tmp_path / "gap.mcap"
    with SimulatedRecording(path, robot) as recording:
        for when, tip, wound in zip(moved.times, moved.tips, bending(), strict=True):
            recording.vector("gravity", when, GRAVITY)
            recording.pose("tip/pose", when, tip, np.array([0.0, 0.0, 1.0]))
            if told(when):
                recording.joints("cables/state", when, robot.cable_names, wound, np.zeros(6))
    seen = read_release(path, "slender")
    if says is None:
        assert moved_twin(robot.path, seen, DT)
    else:
        with pytest.raises(RecordingError, match=f"cables/state: {says}"):
            moved_twin(robot.path, seen, DT)


def test_winches_that_were_not_recorded_are_named(robot, moved):
    with pytest.raises(RecordingError, match="no topic cables/state"):
        moved_twin(robot.path, Release(moved.times, moved.tips, GRAVITY), DT)
    with pytest.raises(RecordingError, match="no cable_2, only cable_1, cable_3"):
        few = {name: each for name, each in moved.wound.items() if name != "cable_2"}
        moved_twin(robot.path, Release(moved.times, moved.tips, GRAVITY, few), DT)


@pytest.mark.parametrize("name", ["membrane", "finger"])
def test_a_robot_that_something_else_moves_is_told_before_its_recording_is_read(name, capsys):
    assert main(["calibrate", name, "nowhere.mcap", "--friction"]) == 2
    assert f"'{name}' is not moved by cables alone" in capsys.readouterr().err
