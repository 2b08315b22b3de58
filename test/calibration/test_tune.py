"""E and damping by a recorded release: the truth comes back, in few simulations; broken recordings are one line."""

import dataclasses
import re

import numpy as np
import pytest
import yaml
from known_release import DT, GRAVITY, MESHES, TRUTH

from soft_twin.app.cli import main
from soft_twin.calibration.release import Release, read_release
from soft_twin.calibration.released import released_twin
from soft_twin.calibration.tune import search_grid, total_error, tune
from soft_twin.calibration.tuned import Tuned
from soft_twin.errors import RecordingError
from soft_twin.parallel import Workers
from soft_twin.recording.simulated import SimulatedRecording
from soft_twin.studies.slender.shared import variant

BAR = """
robot:
  name: bar
  kind: fem
  body:
    mesh: {voxels: {cells: [1, 1, 4], size: [0.02, 0.02, 0.12], element: hex20r}}
    materials: [{model: neo_hookean, young_modulus: 300000.0, poisson_ratio: 0.3, density: 1000.0}]
    damping: {rayleigh_mass: 1.0, rayleigh_stiffness: 0.05}
    clamped: base
  cables:
    - {name: pull, start: [0.004, 0.0, 0.0], end: [0.004, 0.0, 0.12], tension: [0.0, 5.0], displacement: [-0.01, 0.01],
       stiffness: 4000.0}
  frames: {tip: {nodes: tip}}
  target: {tip: [0.0, 0.0, 0.119]}
"""


def test_the_truth_comes_back_in_few_simulations_and_what_is_not_seen_stays(found):
    assert len(found.history) <= 6
    assert found.error < 1e-4 * found.history[0]
    assert found.values["young_modulus"] / found.values["density"] == pytest.approx(0.68e6 / 1150.0, rel=2e-3)
    assert found.values["stiffness_damping"] == pytest.approx(0.31, rel=2e-3)
    assert found.uncertainties["mass_damping"] > 1.0 > 0.05 > found.uncertainties["stiffness_damping"]


@pytest.mark.parametrize(("beta", "dt"), [(0.31, DT), (0.1, 0.05)])
def test_beta_is_as_uncertain_as_an_alpha_ten_times_larger_moves_it(robot, release, beta, dt):
    truth = TRUTH | {"mass_damping": 5.0, "stiffness_damping": beta}
    times = dt * np.arange(11)
    straight = Release(times, np.tile(release.tips[0], (11, 1)), GRAVITY)
    twin = released_twin(robot.path, straight, dt)
    twin.set(truth)
    seen = dataclasses.replace(straight, tips=np.vstack([straight.tips[:1], twin.positions()[:, 0]]))
    found = tune(robot.path, seen, dt=dt)
    assert found.values["mass_damping"] < 0.2 * truth["mass_damping"] and found.distance < 1e-4  # α is not seen
    off = abs(found.values["stiffness_damping"] / beta - 1.0)
    assert 0.5 < off / found.uncertainties["stiffness_damping"] < 1.5


def test_a_search_that_did_not_come_to_its_end_says_so(robot, release, found):
    cut = tune(robot.path, release, dt=DT, simulations=len(found.history) - 1)
    assert "note: the search did not come to its end in" in cut.in_words()
    assert "did not come to its end" not in found.in_words()


def test_cables_of_a_robot_without_any_are_not_missed(tmp_path, found):
    bar = yaml.safe_load(BAR)["robot"]
    del bar["cables"]
    bar["body"]["mesh"]["voxels"] |= {"cells": [3, 3, 3], "hollows": [{"first": [1, 1, 1], "last": [1, 1, 1]}]}
    bar["chambers"] = [{"name": "air", "surface": "chamber 1", "pressure": [0.0, 1e4]}]
    path = tmp_path / "bar.yaml"
    path.write_text(yaml.safe_dump({"robot": bar}))
    times = DT * np.arange(6)
    straight = Release(times, np.tile([0.0, 0.0, 0.12], (6, 1)), GRAVITY)
    tips = released_twin(path, straight, DT).positions()[:, 0]
    seen = dataclasses.replace(straight, tips=np.vstack([straight.tips[:1], tips]))
    assert not any("cables/state" in remark for remark in tune(path, seen, dt=DT).remarks)
    assert any("no cables/state" in remark for remark in found.remarks)


def test_a_search_begins_at_the_modulus_that_is_described(release, found, tmp_path):
    modulus = 0.99 * TRUTH["young_modulus"]
    described = variant(tmp_path, "slender", {"body.material.young_modulus": modulus, "body.meshes": MESHES})
    near = tune(described.path, release, dt=DT)
    assert near.history[0] < 0.5 * found.history[0]
    assert near.values["young_modulus"] == pytest.approx(TRUTH["young_modulus"], rel=1e-3)


def test_simulations_to_come_are_not_told_to_take_no_time_as_those_that_are_kept(robot, release, tmp_path, monkeypatch):
    tune(robot.path, release, dt=DT, store=tmp_path)
    left = []
    monkeypatch.setattr("soft_twin.calibration.tune.time_left", lambda seconds: left.append(seconds) or "")
    again = tune(robot.path, release, dt=DT, simulations=1000, say=str, store=tmp_path)
    count = len(again.history)
    assert left[-1] >= again.seconds / count * (1000 - count)


def test_the_grid_is_least_at_its_nearest_trial_and_is_not_simulated_twice(robot, release, tmp_path):
    axes = {"moduli": (0.5e6, 0.68e6), "dampings": (0.31, 0.7), "dt": DT}
    grid = search_grid(robot.path, release, Workers(), tmp_path, **axes)
    assert grid.best[:2] == (0.68e6, 0.31)
    assert grid.best[2] < 1e-3 * np.sort(grid.errors.ravel())[1]
    said = []
    again = search_grid(robot.path, release, Workers(), tmp_path, said.append, **axes)
    assert said == [] and again.seconds == grid.seconds
    np.testing.assert_array_equal(again.errors, grid.errors)


def test_another_content_of_the_description_is_another_grid(robot, release, tmp_path):
    axes = {"moduli": (0.68e6,), "dampings": (0.31,), "dt": DT}
    path = tmp_path / "mine.yaml"
    text = robot.path.read_text(encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    light = search_grid(path, release, Workers(), tmp_path / "store", **axes)
    path.write_text(text.replace("density: 1150.0", "density: 1300.0"), encoding="utf-8")
    heavy = search_grid(path, release, Workers(), tmp_path / "store", **axes)
    assert heavy.errors[0, 0] > 10.0 * light.errors[0, 0]
    path.write_text(text, encoding="utf-8")
    said = []
    assert search_grid(path, release, Workers(), tmp_path / "store", said.append, **axes).errors == light.errors
    assert said == []


def test_what_is_told_names_the_keys_of_the_description_of_any_kind(robot, found, tmp_path):
    path = tmp_path / "bar.yaml"
    path.write_text(BAR, encoding="utf-8")
    times = DT * np.arange(11)
    straight = Release(times, np.tile([0.0, 0.0, 0.12], (11, 1)), GRAVITY)
    fallen = np.vstack([straight.tips[:1], released_twin(path, straight, DT).positions()[:, 0]])
    bar = tune(path, dataclasses.replace(straight, tips=fallen), dt=DT)
    assert bar.values["young_modulus"] / bar.values["density"] == pytest.approx(300.0, rel=5e-3)
    for description, tuned in ((robot.path, found), (path, bar)):
        body = yaml.safe_load(description.read_text(encoding="utf-8"))["robot"]["body"]
        keys = re.findall(r"^  (\S+): ", tuned.in_words(), re.MULTILINE)
        assert len(keys) == 4
        for key in keys:
            value = body
            for step in re.findall(r"\w+", key):
                value = value[int(step) if step.isdigit() else step]
            assert isinstance(value, float)


def test_the_total_error_is_the_papers():
    measured, tips = np.zeros((2, 3)), np.array([[0.001, 0.0, 0.0], [0.0, 0.003, 0.0]])
    assert total_error(tips, measured) == pytest.approx((1.0 + 3.0) * 1.0)


def test_a_recorded_release_is_read_from_its_moment_on(robot, release, tmp_path, capsys):
    path = tmp_path / "release.mcap"
    with SimulatedRecording(path, robot) as recording:
        for step in range(60):
            if step == 10:
                recording.text("run/phase", 0.1, "released")
            after = max(0.01 * step - 0.1, 0.0)
            tip = [np.interp(after, release.times, each) for each in release.tips.T]
            recording.pose("tip/pose", 0.01 * step, tip, np.array([0.0, 0.0, 1.0]))
            recording.vector("gravity", 0.01 * step, GRAVITY)
    seen = read_release(path, "slender")
    assert seen.times[0] == 0.0 and seen.times[-1] == pytest.approx(0.49)
    np.testing.assert_allclose(seen.gravity, GRAVITY)
    np.testing.assert_allclose(seen.at_steps(0.1)[:, 0], release.tips[1:5], atol=1e-9)
    asked = ["calibrate", "slender", str(path), "--dt", "0.1", "--simulations", "2", "--out", str(tmp_path / "out")]
    assert main(asked) == 0
    first = capsys.readouterr()
    assert "material.young_modulus: " in first.out and "simulation 2 of at most 2: e_total" in first.err
    stored = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.npz")}
    assert main(asked) == 0 and len(stored) == 2
    assert stored == {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.npz")}
    assert capsys.readouterr().out == first.out
    with pytest.raises(RecordingError, match="no topic tip/pose or truth/tip under 'other'"):
        read_release(path, "other")


def test_a_release_that_is_too_short_is_refused(robot, tmp_path):
    path = tmp_path / "short.mcap"
    with SimulatedRecording(path, robot) as recording:
        recording.vector("gravity", 0.0, GRAVITY)
        for step in range(5):
            recording.pose("truth/tip", 0.01 * step, np.zeros(3), np.array([0.0, 0.0, 1.0]))
    with pytest.raises(RecordingError, match="5 poses of the tip after the release"):
        read_release(path, "slender")


@pytest.mark.parametrize(
    ("share", "told"), [(2.34, "± 230 %"), (0.02, "± 2 %"), (0.00731, "± 0.73 %"), (np.inf, "± inf %")]
)
def test_uncertainties_are_told_in_plain_numbers(share, told):
    found = Tuned({"cable_friction": 0.1}, {"cable_friction": share}, 0.2, [0.2], 1.0, np.zeros((2, 3)))
    assert found.in_words().endswith(told)


def test_a_simulation_with_a_lower_e_total_is_told():
    found = Tuned({"cable_friction": 0.1}, {"cable_friction": 0.02}, 0.2, [1.3, 0.16, 0.2], 1.0, np.zeros((2, 3)))
    assert "(number 2 has 0.16 mm³" in found.in_words()
    assert "(number" not in dataclasses.replace(found, history=[1.3, 0.2]).in_words()
