"""How a recording's robots look at its moments."""

import logging

import numpy as np
import pytest
from filmed import header, imu, marker, of, pose, tetrahedron, write
from scipy.spatial.transform import Rotation

from soft_twin.errors import RecordingError
from soft_twin.viewing import film as film_module
from soft_twin.viewing.film import Film

LEFT, RIGHT = "/left", "/lab/right"


def text(words):
    return of("std_msgs/msg/String", data=words)


def moving(seconds=2.0, name=LEFT, start=0.0):
    """A body that rises by 1 mm a tenth of a second, and what else is said of it."""
    messages = [(start, f"{name}/run/phase", text("warm-up")), (start + 1.0, f"{name}/run/phase", text("with"))]
    for k in range(round(10 * seconds)):
        now, shift = start + 0.1 * k, 1e-3 * k
        tilted = Rotation.from_rotvec([0.1 * k, 0.0, 0.0]).as_quat()
        messages += [
            (now, f"{name}/body", marker(tetrahedron(shift))),
            (now, f"{name}/twin/tip", pose((0.0, 0.0, 0.1 + shift))),
            (now, f"{name}/twin/target", pose((0.0, 0.0, 0.1))),
            (now, f"{name}/imu/data", imu(tilted)),
            (now, f"{name}/plate/imu/data", imu((1.0, 0.0, 0.0, 0.0))),
        ]
    return sorted(messages, key=lambda each: each[0])


@pytest.mark.parametrize("mcap", [True, False])
def test_a_robot_looks_as_was_said_last_before(tmp_path, mcap):
    film = Film(write(tmp_path / "bag", moving(), mcap))
    assert film.robots == ["left"] and film.duration == pytest.approx(1.9)
    for second, k in ((0.0, 0), (0.05, 0), (0.31, 3), (1.75, 17), (1.9, 19), (100.0, 19)):
        look = film.at(second)["left"]
        np.testing.assert_allclose(look.body, tetrahedron(1e-3 * k), atol=1e-8)
        assert look.error == pytest.approx(1e-3 * k) and look.told["phase"] == ("with" if second >= 1.0 else "warm-up")
        x, y, z, w = Rotation.from_rotvec([0.1 * k, 0.0, 0.0]).as_quat()
        np.testing.assert_allclose(look.base, [w, x, y, z], atol=1e-12)


def test_it_begins_with_the_first_body_and_shows_what_was_said_before(tmp_path):
    film = Film(write(tmp_path / "bag", [(-5.0, "/left/run/phase", text("starting")), *moving()[2:]]))
    assert film.duration == pytest.approx(1.9) and film.at(0.0)["left"].told["phase"] == "starting"


def test_several_robots_are_told_apart_and_one_can_be_chosen(tmp_path):
    path = write(tmp_path / "bag", sorted(moving() + moving(name=RIGHT, start=1.0), key=lambda each: each[0]))
    film = Film(path)
    assert film.robots == ["lab/right", "left"] and film.duration == pytest.approx(2.9)
    looks = film.at(0.5)
    assert looks["lab/right"].body is None and looks["left"].body is not None
    assert Film(path, "/lab/right/").robots == ["lab/right"]
    with pytest.raises(RecordingError, match="nothing of 'middle' that can be shown"):
        Film(path, "middle")


def test_struts_are_lines_and_markers_of_a_scanner_are_none(tmp_path):
    ends = np.arange(12.0).reshape(4, 3)
    lines = marker(ends, "arm/base_link", "struts", kind=5, colours=[(1.0, 0.0, 0.5)] * 4)
    seen = of("geometry_msgs/msg/PoseArray", header=header(), poses=[])
    both = of("visualization_msgs/msg/MarkerArray", markers=[lines])
    film = Film(write(tmp_path / "bag", [(0.0, "/arm/markers", both), (0.1, "/skin/markers", seen)]))
    assert film.robots == ["arm"]
    (found,) = film.at(0.0)["arm"].lines.values()
    np.testing.assert_allclose(found.segments, ends.reshape(2, 2, 3))
    assert found.colours.reshape(-1, 3).tolist() == [[255, 0, 127]] * 4


def test_what_a_filterless_imu_says_turns_nothing(tmp_path):
    film = Film(write(tmp_path / "bag", [*moving(0.1), (0.05, "/left/imu/data", imu((0.0, 0.0, 0.0, 0.0)))]))
    np.testing.assert_allclose(film.at(0.06)["left"].base, [1.0, 0.0, 0.0, 0.0], atol=1e-12)


def test_a_long_film_is_thinned_until_it_fits(tmp_path, monkeypatch):
    path = write(tmp_path / "bag", moving(6.0))
    one = tetrahedron().astype(np.float32).nbytes
    monkeypatch.setattr(film_module, "MOST", 20 * one)
    film = Film(path)
    shown = [film.at(0.1 * k + 0.01)["left"].body[0, 2] for k in range(60)]
    assert len(np.unique(shown)) <= 20 and np.abs(np.array(shown) - 1e-3 * np.arange(60)).max() < 9e-3
    assert film.duration == pytest.approx(5.9, abs=0.8)


def test_one_message_that_is_none_is_told_once_and_left_out(tmp_path, caplog):
    strange = of("visualization_msgs/msg/MarkerArray", markers=[marker(tetrahedron())])  # two of its bytes too few
    path = write(tmp_path / "bag", [(0.0, "/left/markers", strange), *moving(1.0)])
    with caplog.at_level(logging.WARNING):
        look = Film(path).at(0.0)["left"]
    assert look.body is not None and look.lines == {}


@pytest.mark.parametrize("messages", [[(0.0, "/left/run/phase", text("with"))], [(0.0, "/body", marker([]))]])
def test_what_shows_no_robot_is_refused(tmp_path, messages):
    with pytest.raises(RecordingError, match=r"nothing that can be shown: no robot's topic body, markers or twin/tip"):
        Film(write(tmp_path / "bag", messages))
