"""Recordings of releases: what is read of them, and each kind that is none is told in one line."""

from dataclasses import replace
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from known_release import DT, GRAVITY, STEPS, TRUTH, UP

from soft_twin.app.cli import main
from soft_twin.calibration.experiments import Released
from soft_twin.calibration.release import Release, read_release
from soft_twin.calibration.released import check_slack, released_twin
from soft_twin.calibration.tune import search_grid, tune
from soft_twin.errors import ConvergenceError, InputError, RecordingError
from soft_twin.recording.simulated import SimulatedRecording

RATIO = TRUTH["young_modulus"] / TRUTH["density"]


def ratio(tuned):
    return tuned.values["young_modulus"] / tuned.values["density"]


def test_gravity_is_what_was_measured_after_the_release(robot, release, tmp_path):
    path = tmp_path / "laid_down.mcap"
    with SimulatedRecording(path, robot) as recording:
        for step in range(30):
            recording.vector("gravity", 0.1 * step, np.array([0.0, 0.0, -9.81]))
            recording.pose("tip/pose", 0.1 * step, release.tips[0], UP)
        recording.text("run/phase", 3.0, "released")
        for when, tip in zip(release.times, release.tips, strict=True):
            recording.vector("gravity", 3.0 + when, GRAVITY)
            recording.pose("tip/pose", 3.0 + when, tip, UP)
    np.testing.assert_allclose(read_release(path, "slender").gravity, GRAVITY, atol=1e-12)


def test_a_moment_of_release_by_another_clock_than_the_poses_is_refused(robot, release, tmp_path, monkeypatch):
    path = tmp_path / "played_again.mcap"
    with SimulatedRecording(path, robot) as recording:
        write = recording._writer.write
        monkeypatch.setattr(recording._writer, "write", lambda channel, data, when: write(channel, data, when + 10**10))
        recording.text("run/phase", 0.0, "released")
        for when, tip in zip(release.times, release.tips, strict=True):
            recording.vector("gravity", when, GRAVITY)
            recording.pose("tip/pose", when, tip, UP)
    with pytest.raises(RecordingError, match="stamps are 10 s before the times at which messages were sent"):
        read_release(path, "slender")


def laid(recording, release, begin):
    """The release in a recording, from `begin` [s] on."""
    recording.text("run/phase", begin, "released")
    for when, tip in zip(release.times, release.tips, strict=True):
        recording.vector("gravity", begin + when, GRAVITY)
        recording.pose("tip/pose", begin + when, tip, UP)


def test_a_release_ends_where_the_phase_says_something_else(robot, release, tmp_path):
    path = tmp_path / "picked_up.mcap"
    with SimulatedRecording(path, robot) as recording:
        laid(recording, release, 0.0)
        recording.text("run/phase", 1.05, "held")
        for when in (1.1, 1.2, 1.3):
            recording.vector("gravity", when, -GRAVITY)
            recording.pose("tip/pose", when, release.tips[0], UP)
    seen = read_release(path, "slender")
    np.testing.assert_allclose(seen.tips, release.tips, atol=1e-12)
    np.testing.assert_allclose(seen.gravity, GRAVITY, atol=1e-12)


def test_a_release_that_is_told_again_and_again_is_one(robot, release, tmp_path):
    path = tmp_path / "again.mcap"
    with SimulatedRecording(path, robot) as recording:
        laid(recording, release, 0.0)
        for when in (1.0, 2.0, 3.0):
            recording.text("run/phase", when, "released")
        recording.pose("tip/pose", 4.0, release.tips[-1], UP)
    seen = read_release(path, "slender")
    assert seen.times[-1] == pytest.approx(4.0)


def test_several_releases_in_one_recording_are_refused(robot, release, tmp_path):
    path = tmp_path / "twice.mcap"
    with SimulatedRecording(path, robot) as recording:
        laid(recording, release, 0.0)
        recording.text("run/phase", 2.0, "held")
        laid(recording, release, 3.0)
    with pytest.raises(RecordingError, match="phase 'released' begins 2 times in it: expected a recording of one"):
        read_release(path, "slender")


def test_a_base_that_turns_is_refused(record):
    def turning(when):
        return 9.81 * np.array([0.0, -np.cos(0.2 * when), np.sin(0.2 * when)])

    with pytest.raises(RecordingError, match=r"gravity turns by 5\.7\d° from its mean after the release"):
        read_release(record(gravity=turning), "slender")


def test_gravity_in_other_units_or_none_is_refused(record):
    with pytest.raises(RecordingError, match="gravity of 1 m/s², expected 9.81"):
        read_release(record(gravity=GRAVITY / 9.81), "slender")
    with pytest.raises(RecordingError, match="gravity that is no number"):
        read_release(record(gravity=np.nan * GRAVITY), "slender")


def test_another_frame_is_refused_whoever_says_it(record, monkeypatch):
    path = record()
    assert read_release(path, "slender").times[-1] == pytest.approx(1.0)
    header = SimpleNamespace(frame_id="tracker")
    told = [SimpleNamespace(topic="/slender/tip/pose", data=SimpleNamespace(header=header))]
    monkeypatch.setattr("soft_twin.calibration.release.read_messages", lambda path, topics: told)
    with pytest.raises(RecordingError, match="/slender/tip/pose in frame 'tracker', expected 'base_link'"):
        read_release(path, "slender")
    header.frame_id = "left/base_link"
    with pytest.raises(RecordingError, match="in frame 'left/base_link'"):
        read_release(path, "slender")


def test_a_recording_that_says_it_is_of_another_robot_is_refused(record):
    with pytest.raises(RecordingError, match="recorded of 'slender', not of 'finger'"):
        read_release(record(), "slender", "finger")


@pytest.mark.parametrize(
    ("tips", "says"),
    [
        (lambda tips: 1e3 * tips, r"begins at \(0, 0, 1e\+05\) mm"),
        (lambda tips: tips + [0.05, 0.0, 0.0], r"50 mm from the twin's"),
        (lambda tips: tips * [1.0, 1.0, 1.3], r"30 mm from the twin's .* after the release: another robot"),
    ],
    ids=["millimetres", "frame", "longer robot"],
)
def test_a_tip_that_begins_elsewhere_than_the_twins_is_refused(robot, release, tips, says):
    with pytest.raises(RecordingError, match=says):
        tune(robot.path, replace(release, tips=tips(release.tips)), dt=DT, simulations=1)


def test_the_tip_of_a_robot_is_where_its_description_has_it(tmp_path):
    corner = np.array([0.007, -0.007, 0.055])  # a node, halfway up
    beam = {
        "name": "beam",
        "kind": "fem",
        "body": {
            "mesh": {"voxels": {"cells": [1, 1, 2], "size": [0.014, 0.014, 0.11], "element": "hex20r"}},
            "materials": [{"model": "corotational", "young_modulus": 3e5, "poisson_ratio": 0.45, "density": 1100.0}],
            "damping": {"rayleigh_mass": 0.5, "rayleigh_stiffness": 0.1},
            "clamped": "base",
        },
        "cables": [
            {"name": "pull", "start": [0.0, 0.0, 0.0], "end": [0.0, 0.0, 0.11], "stiffness": 5e3}
            | {"tension": [0.0, 4.0], "displacement": [-0.02, 0.02]}
        ],
        "frames": {"tip": {"point": corner.tolist()}},
        "target": {"tip": [0.0, 0.0, 0.08]},
    }
    path = tmp_path / "beam.yaml"
    path.write_text(yaml.safe_dump({"robot": beam}))
    held = Release(DT * np.arange(STEPS + 1), np.tile(corner, (STEPS + 1, 1)), GRAVITY)
    twin = released_twin(path, held, DT)
    tips = twin.positions()[:, 0]
    node = np.argmin(np.linalg.norm(twin.model.body.mesh.nodes - corner, axis=1))
    np.testing.assert_allclose(tips[-1], twin.integrator.pose.points[node], atol=1e-12)
    assert np.linalg.norm(tips[-1] - corner) > 2e-3


def test_a_tip_that_is_seen_too_late_is_refused(robot, release):
    late = Release(release.times[3:], release.tips[3:], GRAVITY)
    with pytest.raises(RecordingError, match=r"seen 0\.3 s after the release for the first time"):
        tune(robot.path, late, dt=DT, simulations=1)


def test_where_the_tracker_lost_the_tip_nothing_is_put_in_its_place(robot, release):
    twin = released_twin(robot.path, replace(release, times=np.linspace(0.0, 1.0, 11)), 0.05)
    twin.set(TRUTH)
    times = 0.05 * np.arange(21)
    tips = np.vstack([release.tips[:1], twin.positions()[:, 0]])
    lost = (times > 0.12) & (times < 0.43)
    seen = Release(times[~lost], tips[~lost], GRAVITY)
    assert list(np.flatnonzero(~seen.seen_at_steps(0.05))) == [2, 3, 4, 5, 6, 7, 8]
    found = tune(robot.path, seen, TRUTH | {"stiffness_damping": 0.4}, 0.05, simulations=3)
    assert ratio(found) == pytest.approx(RATIO, rel=2e-3)
    assert found.values["stiffness_damping"] == pytest.approx(TRUTH["stiffness_damping"], rel=5e-3)
    assert found.distance < 2e-5 and "not seen at 7 of 20 steps" in found.remarks[0]


def test_poses_that_are_no_numbers_are_a_loss_of_the_tracker(record, release):
    tips = release.tips.copy()
    tips[4] = np.nan
    seen = read_release(record(tips=tips), "slender")
    assert len(seen.times) == STEPS and np.isfinite(seen.tips).all()


def test_poses_that_are_there_twice_are_taken_once(record, release):
    seen = read_release(record(np.repeat(release.times, 2), np.repeat(release.tips, 2, axis=0)), "slender")
    assert len(seen.times) == STEPS + 1 and seen.seen_at_steps(DT).all()
    np.testing.assert_allclose(seen.tips, release.tips, atol=1e-12)


def test_taut_cables_are_refused_and_slack_ones_are_not(robot, release, found):
    names, rows = robot.cable_names, np.ones(STEPS + 1)
    home, out = (replace(release, wound=dict.fromkeys(names, each * rows)) for each in (0.0, -0.002))
    with pytest.raises(RecordingError, match="cable_1 was taut in it, with its winch at 0 mm"):
        tune(robot.path, home, dt=DT, simulations=1)
    twin = released_twin(robot.path, release, DT)
    twin.set(TRUTH)
    twin.positions()
    check_slack(out, DT, twin.coordinates, names)
    assert 1.0 < -1e3 * twin.coordinates.min() < 1.3  # mm
    assert "no cables/state" in found.remarks[-1]


def test_winches_that_were_not_homed_long_before_a_release_do_not_count(robot, release, tmp_path):
    def write(path, known):
        with SimulatedRecording(path, robot) as recording:
            for when in np.arange(-1.0, 1.05, 0.1):
                told = -0.002 if known(when) else np.nan
                recording.joints("cables/state", 1.0 + when, robot.cable_names, np.full(6, told), np.zeros(6))
            laid(recording, release, 1.0)
        return path

    wound = read_release(write(tmp_path / "homed.mcap", lambda when: when > -0.15), "slender").wound
    assert list(wound) == robot.cable_names and (np.array(list(wound.values())) == -0.002).all()
    with pytest.raises(RecordingError, match=r"cables/state: no number for cable_1 0\.5 s after the release"):
        read_release(write(tmp_path / "lost.mcap", lambda when: abs(when - 0.5) > 0.05), "slender")


@pytest.mark.parametrize(
    ("names", "wound", "says"),
    [
        (
            lambda names: names,
            0.001,
            "cable_1 was taut in it from the beginning, with its winch at 1 mm",
        ),
        (lambda names: ["x1", "x2"], -0.002, "cables/state: no cable_1, .*, cable_6, only x1, x2"),
        (lambda names: names[:-1], -0.002, "cables/state: no cable_6, only cable_1, "),
        (lambda names: [], -0.002, "cables/state: no cable_1, .*, only nothing"),
    ],
    ids=["wound in", "other names", "one is missing", "no names"],
)
def test_winches_that_cannot_have_let_all_cables_out_are_refused_at_once(
    robot, release, monkeypatch, names, wound, says
):
    monkeypatch.setattr("soft_twin.calibration.tune._simulated", lambda *_: pytest.fail("simulated"))
    told = {name: np.full(STEPS + 1, wound) for name in names(robot.cable_names)}
    with pytest.raises(RecordingError, match=says):
        tune(robot.path, replace(release, wound=told), dt=DT)


def test_a_motion_that_no_twin_does_is_refused(robot, release):
    aside = release.tips.copy()
    aside[5:, 0] += 0.03
    with pytest.raises(RecordingError, match="no twin of this description moves as was recorded: after"):
        tune(robot.path, replace(release, tips=aside), TRUTH, DT)


@pytest.mark.parametrize("gravity", [[0.0, 0.0, -9.81], [1.0, -1.0, 9.7]])
def test_a_robot_that_stands_or_hangs_is_refused_before_it_is_simulated(robot, release, monkeypatch, gravity):
    monkeypatch.setattr("soft_twin.calibration.tune._simulated", lambda *_: pytest.fail("simulated"))
    with pytest.raises(RecordingError, match="gravity is .*° from the robot's axis, expected 10° or more: lay"):
        tune(robot.path, replace(release, gravity=np.array(gravity)), dt=DT)


def test_a_tip_that_rises_is_refused_before_it_is_simulated(robot, release, monkeypatch):
    monkeypatch.setattr("soft_twin.calibration.tune._simulated", lambda *_: pytest.fail("simulated"))
    with pytest.raises(RecordingError, match=r"the tip rises by 20.9 mm in the mean, against gravity: which of"):
        tune(robot.path, replace(release, gravity=-GRAVITY), dt=DT)


def test_a_robot_that_is_not_let_go_is_refused_before_it_is_simulated(robot, release, monkeypatch):
    monkeypatch.setattr("soft_twin.calibration.tune._simulated", lambda *_: pytest.fail("simulated"))
    still = release.tips[0] + np.random.default_rng(0).normal(0.0, 1e-4, release.tips.shape)
    with pytest.raises(
        RecordingError, match=r"the tip moves by no more than 0\.\d+ mm, expected 1 mm or more: was it let"
    ):
        tune(robot.path, replace(release, tips=still), dt=DT)


def test_a_robot_that_falls_by_nothing_says_nothing_of_its_modulus(robot, release):
    swayed = release.tips[0] + np.linspace(0.0, 2e-3, STEPS + 1)[:, None] * [1.0, 0.0, 0.0]
    with pytest.raises(RecordingError, match="Young's modulus is not seen in it: .* lay the robot down"):
        tune(robot.path, Release(release.times, swayed, np.array([0.0, -0.02, 0.0])), dt=DT)


def failing(monkeypatch, fails):
    """Simulations end in the solver's words where it says so of their number, from 1."""
    numbers, compute = count(1), Released.positions_and_slopes

    def simulated(self, names):
        if fails(next(numbers)):
            raise ConvergenceError("no minimum after 55 steps: the residual is 1.2e-07 N")
        return compute(self, names)

    monkeypatch.setattr(Released, "positions_and_slopes", simulated)


def test_a_search_goes_on_nearer_where_values_have_no_motion(robot, release, monkeypatch):
    failing(monkeypatch, lambda number: number == 2)
    said = []
    found = tune(robot.path, release, dt=DT, simulations=10, say=said.append)
    assert ratio(found) == pytest.approx(RATIO, rel=5e-3)
    assert said[1] == "simulation 2 of at most 10: no motion with its values, the next are nearer"
    assert said[2].startswith("simulation 3 of") and len(found.history) == len(said) - 1
    assert np.isfinite(found.history).all()


def test_a_search_without_any_motion_says_what_to_do(record, tmp_path, monkeypatch, capsys):
    path = record()
    asked = ["calibrate", "slender", str(path), "--dt", str(DT), "--simulations", "3", "--out", str(tmp_path / "out")]
    with monkeypatch.context() as patch:
        failing(patch, lambda number: True)
        assert main(asked) == 2
    assert f"{path}: no motion of the twin could be computed" in capsys.readouterr().err.splitlines()[-1]
    failing(monkeypatch, lambda number: number > 1)
    assert main(asked) == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert f"{path}: the search did not come to its end: after 1 simulations" in told
    assert "2 more had no motion: allow more" in told and "no minimum" not in told


def test_uncertainties_are_those_of_what_is_left_where_that_is_more_than_noise(robot, release):
    rng = np.random.default_rng(0)
    noisy = replace(release, tips=release.tips + rng.normal(0.0, 1e-3, release.tips.shape))
    start = TRUTH | {"mass_damping": 1e-3}  # an α that β is not uncertain by
    rough, fine = (tune(robot.path, each, start, DT, simulations=3) for each in (noisy, release))
    grown = rough.uncertainties["stiffness_damping"] / fine.uncertainties["stiffness_damping"]
    assert 3.0 < grown < 7.0  # 1 mm of noise beside 0.2 mm


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--simulations", "0"], "simulations: 0: expected 1 or more"),
        (["--simulations", "-3"], "simulations: -3: expected 1 or more"),
        (["--dt", "5"], "steps of 5 s: expected 0.0001 to 1 s"),
        (["--dt", "nan"], "steps of nan s"),
        (["--workers", "-1"], "--workers -1: expected 1 or more, or 0 for one on each core"),
        (["--cluster", "local"], "--cluster local: of no use without --grid, leave it out"),
        (["--workers", "3"], "--workers 3: of no use without --grid, leave it out"),
        (["--dt", "0.4"], "seen at 2 ends of steps of 0.4 s: expected 4 or more"),
    ],
)
def test_what_nobody_can_search_with_is_told_in_one_line(record, tmp_path, capsys, options, says):
    assert main(["calibrate", "slender", str(record()), "--out", str(tmp_path / "out"), *options]) == 2
    told = capsys.readouterr().err.strip()
    assert says in told and "\n" not in told


def test_a_namespace_is_the_same_with_slashes_around_it(record):
    path = record()
    np.testing.assert_array_equal(read_release(path, "/slender/").tips, read_release(path, "slender").tips)


def test_too_few_simulations_are_not_taken_for_another_robot(record, tmp_path, capsys):
    options = ["--dt", str(DT), "--simulations", "1", "--out", str(tmp_path / "out")]
    assert main(["calibrate", "slender", str(record()), *options]) == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert "the search did not come to its end: after 1 simulations" in told and "allow more" in told


def test_a_recording_that_is_refused_leaves_no_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["calibrate", "slender", "nowhere.mcap"]) == 2
    assert "nowhere.mcap" in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_a_search_is_asked_for_something_that_can_be(robot, release):
    with pytest.raises(InputError, match="simulations: 0: expected 1 or more"):
        tune(robot.path, release, simulations=0)
    with pytest.raises(InputError, match="start: no parameter youngs: there are young_modulus, density, mass_damping,"):
        tune(robot.path, release, {"youngs": 1e6})
    with pytest.raises(InputError, match="start of mass_damping: 0, expected a finite one above 0"):
        tune(robot.path, release, {"mass_damping": 0.0})
    with pytest.raises(InputError, match="dampings: -0.2, expected finite ones of 0 or more"):
        search_grid(robot.path, release, dampings=[0.3, -0.2])
    with pytest.raises(InputError, match="moduli: none, expected"):
        search_grid(robot.path, release, moduli=[])
