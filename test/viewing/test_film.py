"""How a recording's robots look at its moments."""

import logging

import numpy as np
import pytest
from filmed import TYPES, header, imu, marker, of, pose, tetrahedron, write
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
    with pytest.raises(RecordingError, match="nothing of 'middle' that can be shown; it has lab/right, left"):
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


def test_lines_are_those_of_lists_of_lines_in_their_own_colours_each_of_its_id(tmp_path):
    ends = np.arange(12.0).reshape(4, 3)
    plain = marker(ends, name="frame", kind=5)
    unknown = marker(np.vstack([ends, [[np.nan, 0.0, 0.0]], ends[:1]]), name="frame", kind=5)
    unknown.id = 1
    balls = marker(ends, name="balls", kind=7, colours=[(1.0, 0.0, 0.0)] * 4)
    array = of("visualization_msgs/msg/MarkerArray", markers=[plain, unknown, balls])
    lines = Film(write(tmp_path / "bag", [(0.0, "/arm/markers", array)])).at(0.0)["arm"].lines
    assert len(lines) == 2
    for found in lines.values():
        np.testing.assert_allclose(found.segments, ends.reshape(2, 2, 3))
        assert found.colours.reshape(-1, 3).tolist() == [[255, 127, 0]] * 4


def test_triangles_of_what_is_not_known_are_left_out(tmp_path):
    corners = tetrahedron()
    corners[4] = np.nan
    body = Film(write(tmp_path / "bag", [(0.0, "/left/body", marker(corners))])).at(0.0)["left"].body
    np.testing.assert_allclose(body, np.delete(corners, [3, 4, 5], axis=0), atol=1e-8)


def test_of_two_messages_at_once_the_newer_one_holds(tmp_path):
    said = [(0.5, "/left/run/phase", text("warm-up")), (0.503, "/left/run/phase", text("without"))]
    film = Film(write(tmp_path / "bag", sorted(moving() + said, key=lambda each: each[0])))
    assert film.at(0.9)["left"].told["phase"] == "without"


def tensions(values):
    kept = {"position": np.zeros(0), "velocity": np.zeros(0), "effort": np.array(values, dtype=float)}
    return TYPES["sensor_msgs/msg/JointState"](header(), name=[f"c{k}" for k, _ in enumerate(values)], **kept)


def test_what_cables_say_can_be_read_and_drawn(tmp_path):
    rows = ((0.3, (0.5, 2.0)), (0.7, ()), (1.1, np.arange(40.0)))
    said = [(second, "/left/cables/state", tensions(row)) for second, row in rows]
    film = Film(write(tmp_path / "bag", sorted(moving() + said, key=lambda each: each[0])))
    few, none, many = (film.at(second)["left"].told["tensions"] for second in (0.5, 0.9, 1.3))
    assert str(few) == "0.50, 2.00 N of c0, c1" and few.curves == {"c0": 0.5, "c1": 2.0}
    assert str(none) == "" and none.curves == {}
    assert str(many) == "0.00 … 39.00 N of 40" and many.curves == {"least": 0.0, "largest": 39.0}


def test_a_robot_that_says_nothing_more_is_silent(tmp_path):
    other = [(5.0 + second, topic, message) for second, topic, message in moving(name=RIGHT)]
    film = Film(write(tmp_path / "bag", [*moving(), (4.0, "/left/imu/data", imu((0.0, 0.0, 0.0, 1.0))), *other]))
    looks = film.at(1.95)
    assert looks["left"].silent < 0.1 and looks["lab/right"].silent == np.inf
    assert film.at(6.0)["left"].silent == pytest.approx(4.1, abs=0.05) and film.at(6.0)["lab/right"].silent < 0.1


def test_two_recordings_of_one_time_are_told_as_such(tmp_path, caplog):
    once, twice = write(tmp_path / "once", moving()), write(tmp_path / "twice", [*moving(), *moving()])
    with caplog.at_level(logging.WARNING):
        Film(once)
        assert caplog.text == ""
        Film(twice)
    assert "log times go back by 1.9 s in it, as where a clock was set or files were joined" in caplog.text


def test_where_the_clock_was_set_the_film_goes_on(tmp_path, caplog):
    """As by a computer that learns the time while it records."""
    later = [(5e8 + second, topic, message) for second, topic, message in moving()]
    path = write(tmp_path / "bag", [*moving(), *later])
    with caplog.at_level(logging.WARNING):
        film = Film(path)
    assert "for 5e+08 s nobody said anything, as where a clock was set" in caplog.text
    assert film.duration == pytest.approx(3.8) and film.at(1.95)["left"].silent < 0.1
    shown = [film.at(0.1 * k + 0.01)["left"].body[0, 2] for k in (0, 10, 18, 19, 20, 30, 38)]
    np.testing.assert_allclose(shown, [0.0, 0.01, 0.018, 0.0, 0.001, 0.011, 0.019], atol=1e-7)


@pytest.mark.parametrize("message", [imu((0.0, 0.0, 0.0, 0.0)), imu((0.0, 0.0, 0.0, 1.0), told=False)])
def test_what_a_filterless_imu_says_turns_nothing(tmp_path, message):
    turned = imu((1.0, 0.0, 0.0, 0.0))
    body = marker(tetrahedron())
    said = [(0.0, "/left/body", body), (0.0, "/left/imu/data", turned), (0.1, "/left/imu/data", message)]
    film = Film(write(tmp_path / "bag", [*said, (0.2, "/left/body", body)]))
    np.testing.assert_allclose(film.at(0.2)["left"].base, [0.0, 1.0, 0.0, 0.0], atol=1e-12)


def test_a_long_film_is_thinned_until_it_fits(tmp_path, monkeypatch):
    path = write(tmp_path / "bag", moving(6.0))
    one = tetrahedron().astype(np.float32).nbytes
    monkeypatch.setattr(film_module, "MOST", 20 * one)
    film = Film(path)
    shown = [film.at(0.1 * k + 0.01)["left"].body[0, 2] for k in range(60)]
    assert len(np.unique(shown)) <= 20 and np.abs(np.array(shown) - 1e-3 * np.arange(60)).max() < 9e-3
    assert film.duration == pytest.approx(5.9, abs=0.8)


def test_a_thinned_body_and_its_tip_are_of_one_moment(tmp_path, monkeypatch):
    said = []
    for k in range(60):
        shift = 1e-3 * k
        said += [(0.1 * k, "/left/body", marker(np.tile(tetrahedron(shift), (20, 1))))]
        said += [(0.1 * k, "/left/twin/tip", pose((0.0, 0.0, 0.1 + shift)))]
    monkeypatch.setattr(film_module, "MOST", 40_000)
    film = Film(write(tmp_path / "bag", [*said, (9.0, "/left/twin/tip", pose((0.0, 0.0, 0.3)))]))
    assert len({film.at(0.1 * k)["left"].body[0, 2] for k in range(60)}) < 20
    for k in range(60):
        look = film.at(0.1 * k + 0.01)["left"]
        assert look.tip is None or look.tip.position[2] - look.body[0, 2] == pytest.approx(0.1, abs=1e-7)
    assert film.at(9.1)["left"].tip.position[2] == 0.3 and film.at(9.1)["left"].body[0, 2] > 0.05


def test_lines_take_memory_as_well(tmp_path, monkeypatch):
    lines = marker(np.zeros((4, 3)), name="struts", kind=5)
    array = of("visualization_msgs/msg/MarkerArray", markers=[lines])
    path = write(tmp_path / "bag", [(0.1 * k, "/arm/markers", array) for k in range(100)])
    monkeypatch.setattr(film_module, "MOST", 20 * (12 * 8 + 12))
    (track,) = (track for _, track in Film(path)._tracks)
    assert len(track.times) <= 20


def test_values_take_memory_as_well(tmp_path, monkeypatch):
    said = [(0.1 * k, "/left/cables/state", tensions(np.full(40, float(k)))) for k in range(60)]
    path = write(tmp_path / "bag", sorted(moving(6.0) + said, key=lambda each: each[0]))
    monkeypatch.setattr(film_module, "MOST", 40_000)
    film = Film(path)
    assert 4 < len({film.at(0.1 * k)["left"].told["tensions"].values for k in range(60)}) < 20


def test_one_message_that_is_none_is_told_once_and_left_out(tmp_path, caplog):
    strange = of("visualization_msgs/msg/MarkerArray", markers=[marker(tetrahedron())])  # two of its bytes too few
    path = write(tmp_path / "bag", [(0.0, "/left/markers", strange), *moving(1.0)])
    with caplog.at_level(logging.WARNING):
        look = Film(path).at(0.0)["left"]
    assert look.body is not None and look.lines == {}


@pytest.mark.parametrize("messages", [[(0.0, "/left/run/phase", text("with"))], [(0.0, "/body", marker([]))]])
def test_what_shows_no_robot_is_refused(tmp_path, messages):
    told = "nothing that can be shown: no topic body, markers or twin/tip in a robot's namespace, as in /left/body$"
    with pytest.raises(RecordingError, match=told):
        Film(write(tmp_path / "bag", messages))
