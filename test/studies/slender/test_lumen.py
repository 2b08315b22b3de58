"""The robot in tubes: their geometry, how the base goes in, a short push with and without compensation."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_twin.errors import DescriptionError
from soft_twin.parallel import Workers, working_with
from soft_twin.recording.reader import arrays
from soft_twin.robots import load_robot
from soft_twin.studies.slender import loop, lumen
from soft_twin.studies.slender.carried import HELD, LET_BE
from soft_twin.studies.slender.loop import History
from soft_twin.studies.slender.lumen import ATTITUDES, PHANTOMS, Phantom, Piece, Pushed, Schedule

SHORT = Schedule(shaped=0.4, waited=0.5, pushed=0.2, after=0.1, depth=0.005)


def test_a_centre_line_of_arcs_is_arcs():
    bent = Phantom((Piece(0.05), Piece(0.1, 90.0, 90.0), Piece(0.05, 40.0, 0.0)), 0.0, 0.01, 0.01)
    attitude, place = bent.at(0.03)
    np.testing.assert_allclose(place, [0.0, 0.0, 0.03], atol=1e-15)
    np.testing.assert_allclose(attitude, np.eye(3), atol=1e-15)
    radius = 0.1 / (0.5 * np.pi)
    for share in (0.2, 0.7, 1.0):
        attitude, place = bent.at(0.05 + 0.1 * share)
        angle = 0.5 * np.pi * share
        expected = [0.0, radius * (1.0 - np.cos(angle)), 0.05 + radius * np.sin(angle)]
        np.testing.assert_allclose(place, expected, atol=1e-12)
        np.testing.assert_allclose(attitude[:, 2], [0.0, np.sin(angle), np.cos(angle)], atol=1e-12)
    step = 1e-6
    for along in (0.02, 0.08, 0.17, 0.24):  # the last beyond its end
        ahead, behind = bent.at(along + step)[1], bent.at(along - step)[1]
        np.testing.assert_allclose((ahead - behind) / (2.0 * step), bent.at(along)[0][:, 2], atol=1e-6)


@pytest.mark.parametrize("name", PHANTOMS)
def test_the_base_goes_along_the_line_and_feels_gravity_there(name):
    phantom, schedule = PHANTOMS[name], Schedule()
    motion = lumen.way_in(phantom, ATTITUDES["left lateral"], schedule)
    to_world = Rotation.from_quat(np.roll(motion.attitude(0.0), -1))
    np.testing.assert_allclose(to_world.apply(phantom.gravity(ATTITUDES["left lateral"])), [0.0, 0.0, -9.81], atol=1e-9)
    for time in (0.0, 2.0, 3.3, schedule.pushed):
        attitude, place = phantom.at(schedule.depth_at(time))
        np.testing.assert_allclose(to_world.inv().apply(motion.place(time)), place, atol=3e-5)
        now = Rotation.from_quat(np.roll(motion.attitude(time), -1))
        assert (now.inv() * to_world * Rotation.from_matrix(attitude)).magnitude() < 2e-3
    felt = -motion.specific_force(-1.0)
    np.testing.assert_allclose(felt, phantom.gravity(ATTITUDES["left lateral"]), atol=1e-9)


def test_what_is_told_turns_to_upright():
    told, felt = lumen.Told(2.0), np.array([0.0, -9.81, 0.0])
    now = [told.update(time, felt, np.zeros(3), np.zeros(3)) for time in (1.0, 2.5, 4.0)]
    np.testing.assert_allclose(now, [felt, -9.81 * np.sqrt(0.5) * np.array([0.0, 1.0, 1.0]), lumen.UPRIGHT], atol=1e-12)


def test_a_phantom_that_is_narrower_than_the_robot_is_named(tmp_path):
    with pytest.raises(DescriptionError, match="'thin' is 8.6 mm wide where it is narrowest, the body 9 mm"):
        lumen.in_phantom(tmp_path, "thin", replace(PHANTOMS["colon"], narrowest=0.0043))


@pytest.fixture(scope="module")
def pushes(small, same):
    """By way, in the straight tube, lying on the side."""
    small("in_straight", obstacles=[PHANTOMS["straight"].obstacle("straight")])
    cases = [("straight", "left lateral", way) for way in (HELD, LET_BE)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "SETTLED", 2.0)  # of heater and filter
        patch.setattr(lumen, "TURNING", 0.1)
        return {case: lumen.push(str(same.path.parent), str(same.path), SHORT, case) for case in cases}


def test_a_compensated_robot_presses_less_on_the_wall(pushes):
    held, let_be = (lumen.row(case, pushes, SHORT) for case in pushes)
    assert (held.way, let_be.way, let_be.share) == ("compensated", "as upright", 1.0)
    assert let_be.peak_mn > 2.0
    assert held.share < 0.5 and held.peak_mn < 0.5 * let_be.peak_mn
    assert held.offset_mm < let_be.offset_mm
    assert let_be.peak_mn >= let_be.mean_mn > 0.0 and let_be.peak_mn >= let_be.place_mn


def test_the_robot_stays_in_the_tube_and_goes_in(pushes):
    clearance = PHANTOMS["straight"].narrowest - 0.0045
    for pushed in pushes.values():
        count = round((SHORT.waited + SHORT.pushed + SHORT.after) / 0.02)
        assert [len(each) for each in (pushed.depths, pushed.forces, pushed.offsets)] == [count] * 3
        assert pushed.history.times[-1] == pytest.approx(SHORT.waited + SHORT.pushed + SHORT.after)
        assert pushed.depths[-1] == SHORT.depth
        in_tube = pushed.shape[pushed.shape[:, 2] > lumen.MOUTH]
        assert len(in_tube) and np.linalg.norm(in_tube[:, :2], axis=1).max() < clearance + 1e-4
        assert pushed.places[-1, 2] == pytest.approx(SHORT.depth + lumen.LENGTH, abs=2.5e-3)


def known(folder, twin, schedule, case):
    """A push by a robot that rests 6 mm beyond where it should be, and presses a fifth as much where it is held."""
    name, _, way = case
    times = np.arange(0.02, 9.01, 0.02)
    still, cables = np.zeros((len(times), 3)), np.zeros((len(times), 6))
    along = still + [0.0, 0.0, 1.0]
    history = History(times, still, still, still, along, still, along, cables, cables, np.zeros((len(times), 4)))
    goal = PHANTOMS[name].at(0.08 + lumen.AT_TIP * lumen.LENGTH)[1]
    forces = np.where(times < 1.0, 1.0, 0.002 if way is HELD else 0.01)  # before the push it does not count
    places = np.tile(goal + [0.0, 0.0, 0.006], (len(times), 1))
    return Pushed(history, np.linspace(0.0, 0.08, len(times)), forces, forces, places, forces, places[:5])


def test_what_a_whole_run_writes_and_draws(same, tmp_path, monkeypatch):
    monkeypatch.setattr(lumen, "tuned_twin", lambda folder, real: (same, {}))
    monkeypatch.setattr(lumen, "push", known)
    with working_with(Workers(1)):
        text = lumen.run(tmp_path, tmp_path)
    rows = json.loads((tmp_path / "table.json").read_text())["rows"]
    assert [row["share"] for row in rows] == pytest.approx([0.2, 1.0] * 6)
    first = rows[0]
    assert first["peak_mn"] == pytest.approx(2.0) and first["missed_mm"] == pytest.approx(6.0) and not first["passes"]
    assert len(text.splitlines()) == 15 and "left lateral" in text
    assert (tmp_path / "lumen.png").stat().st_size > 20_000
    recorded = arrays(tmp_path / "lumen.mcap")
    assert len(recorded["/slender/run/phase"]) == len(rows)
    pressed = recorded["/slender/truth/contact"].fields["data"].reshape(len(rows), -1)
    np.testing.assert_allclose(pressed[:, [0, -1]], [[1.0, 0.002], [1.0, 0.01]] * 6)
    for name, phantom in PHANTOMS.items():
        (obstacle,) = load_robot(tmp_path / f"in_{name}.yaml").description.obstacles
        assert min(obstacle.radii) == pytest.approx(phantom.narrowest, abs=2e-4)
