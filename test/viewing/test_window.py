"""What a page in the browser is told, and that it is told on this machine alone."""

import html
import socket
import urllib.request
from contextlib import closing
from types import SimpleNamespace

import numpy as np
import pytest

from soft_twin.errors import UsageError
from soft_twin.viewing.look import Lines, Look, Pose

pytest.importorskip("viser")

from soft_twin.app.view import Player
from soft_twin.viewing.window import HOST, Window, check_viewable

TURNED = np.array([0.0, 1.0, 0.0, 0.0])  # w, x, y, z


def free_port():
    with closing(socket.create_server((HOST, 0))) as server:
        return server.getsockname()[1]


@pytest.fixture
def window():
    window = Window(free_port())
    yield window
    window.close()


def block(size, shift=0.0):
    """(12, 3) corners of the triangles of a tetrahedron [m]."""
    corners = size * np.array([[0.0, 0.0, 0.0], [0.3, 0.0, 0.0], [0.0, 0.3, 0.0], [0.0, 0.0, 1.0]]) + [0.0, 0.0, shift]
    return corners[[0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3]].astype(np.float32)


def look(size=0.1, shift=0.0):
    place = np.array([0.0, 0.0, size])
    return Look(
        body=block(size, shift),
        tip=Pose(place + [0.0, 0.0, shift], TURNED),
        target=Pose(place, TURNED),
        base=TURNED,
        told={"phase": "with", "limits that bind": ""},
    )


def drawn(window, name):
    return window._server.scene.get_handle_by_name(name)


def test_the_page_is_served_on_this_machine_alone(window):
    with urllib.request.urlopen(window.address, timeout=10.0) as page:
        assert b"<html" in page.read().lower()
    port = int(window.address.rpartition(":")[2])
    with pytest.raises(OSError, match=r"refused"):
        socket.create_connection(("127.0.0.2", port), timeout=1.0)


def test_a_port_that_is_taken_or_none_is_refused(window):
    port = int(window.address.rpartition(":")[2])
    for wrong in (port, 0, 70_000, -1):
        with pytest.raises(UsageError, match=f"--port {wrong}: .*: choose another"):
            check_viewable(wrong)


def test_a_body_moves_and_its_triangles_stay(window):
    for shift in (0.0, 0.004):
        window.show({"left": look(shift=shift)})
        body = drawn(window, "/left/body")
        np.testing.assert_allclose(body.vertices[body.faces].reshape(-1, 3), block(0.1, shift), atol=1e-7)
        assert len(body.vertices) == 4
    np.testing.assert_allclose(drawn(window, "/left/twin's tip").position, [0.0, 0.0, 0.104])
    np.testing.assert_allclose(drawn(window, "/left/target").position, [0.0, 0.0, 0.1])
    assert "tip from its target: 4.00 mm" in window._told.content and "limits" not in window._told.content


def test_the_base_turns_in_the_world_alone(window):
    window.show({"left": look()})
    np.testing.assert_allclose(drawn(window, "/left").wxyz, TURNED)
    window._in_world.value = False
    window.show({"left": look()})
    np.testing.assert_allclose(drawn(window, "/left").wxyz, [1.0, 0.0, 0.0, 0.0])


def test_robots_stand_side_by_side_and_a_larger_one_that_comes_later_has_room(window):
    window.show({"left": look(0.1), "silent": Look()})
    assert drawn(window, "/silent") is None
    window.show({"left": look(0.1), "right": look(1.2)})
    left, right = (drawn(window, name).position for name in ("/left", "/right"))
    assert np.linalg.norm(np.subtract(left, right)) > 1.2


def test_a_body_of_other_triangles_is_drawn_anew(window):
    window.show({"left": look()})
    window.show({"left": Look(body=block(0.1)[:6])})
    body = drawn(window, "/left/body")
    np.testing.assert_allclose(body.vertices[body.faces].reshape(-1, 3), block(0.1)[:6], atol=1e-7)


def test_corners_that_part_are_no_longer_one(window):
    flat = np.zeros((12, 3), dtype=np.float32)
    window.show({"left": Look(body=flat, tip=look().tip)})
    window.show({"left": look()})
    body = drawn(window, "/left/body")
    np.testing.assert_allclose(body.vertices[body.faces].reshape(-1, 3), block(0.1), atol=1e-7)


def test_what_is_not_known_any_more_is_not_shown(window):
    points, ends = np.ones((5, 3)), np.zeros((1, 2, 3))
    whole = look()
    whole.surfaces, whole.lines = {"target": points}, {"struts 0": Lines(ends, np.zeros((1, 2, 3), np.uint8))}
    parts = [f"/left/{name}" for name in ("body", "target", "twin's tip", "target_surface", "lines/struts%200")]
    window.show({"left": whole})
    assert all(drawn(window, name).visible for name in parts)
    unknown = Pose(np.full(3, np.nan), TURNED)
    window.show({"left": Look(tip=Pose(np.full(3, 0.05), TURNED), target=unknown, surfaces={"target": points[:0]})})
    assert [name for name in parts if drawn(window, name).visible] == ["/left/twin's tip"]
    window.show({"left": Look()})
    assert not drawn(window, "/left").visible
    window.show({"left": whole})
    assert drawn(window, "/left").visible and all(drawn(window, name).visible for name in parts)


def test_a_robot_that_is_silent_does_not_look_alive(window):
    still = look()
    still.silent = 7.2
    window.show({"left": still})
    assert drawn(window, "/left/name").text == "left, silent for 7 s" and "silent for 7 s" in window._told.content
    window.show({"left": look()})
    assert drawn(window, "/left/name").text == "left" and "silent" not in window._told.content


def test_a_robot_of_a_nested_namespace_does_not_turn_with_another(window):
    upright = look()
    upright.base = None
    window.show({"lab": look(), "lab/right": upright})
    assert drawn(window, "/lab/right") is None and drawn(window, "/lab%2Fright") is not None


def test_lines_may_be_called_as_what_else_is_drawn(window):
    named = look()
    named.lines = {name: Lines(np.zeros((1, 2, 3)), np.zeros((1, 2, 3), np.uint8)) for name in ("target", "a/b", "")}
    for _ in range(2):
        window.show({"left": named})
    np.testing.assert_allclose(drawn(window, "/left/target").position, [0.0, 0.0, 0.1])
    assert hasattr(drawn(window, "/left/target"), "radius") and not hasattr(drawn(window, "/left/target"), "points")


def test_a_robot_of_whom_only_the_tip_is_known_is_there_and_as_large_as_it_turns_out(window):
    window.show({"left": Look(tip=Pose(np.zeros(3), TURNED))})
    small = drawn(window, "/left").axes_length
    window.show({"left": look()})
    assert drawn(window, "/left/twin's tip").visible and drawn(window, "/left").axes_length > 10.0 * small


@pytest.mark.parametrize(
    "words", ["![a](/etc/passwd)", "<script>alert(1)</script>", "a\n# b", "`{x}` **b** &lt; [l](u)"]
)
def test_words_of_others_are_text_in_the_page(window, words):
    said = look()
    said.told = {"phase": words}
    window.show({words: said})
    assert not set("<[`{") & set(window._told.content)
    assert html.unescape(window._told.content).count(" ".join(words.split())) == 2


def test_browsers_that_are_open_look_at_a_robot_that_comes(window, monkeypatch):
    camera = SimpleNamespace(position=None, look_at=None)
    monkeypatch.setattr(window._server, "get_clients", lambda: {0: SimpleNamespace(camera=camera)})
    window.show({})
    assert camera.position is None
    window.show({"left": look()})
    assert 0.1 < np.linalg.norm(camera.position) < 0.5
    camera.position = None
    window.show({"left": look(shift=0.01)})
    assert camera.position is None


def test_a_browser_looks_at_a_small_robot_beside_a_large_one_and_the_others_look_where_they_did(window, monkeypatch):
    browsers = {n: SimpleNamespace(camera=SimpleNamespace(position=None, look_at=None)) for n in (3, 5)}
    monkeypatch.setattr(window._server, "get_clients", lambda: browsers)

    def far(number, name):
        """A camera from the base of a robot [m]."""
        return np.linalg.norm(browsers[number].camera.position - np.array(drawn(window, name).position))

    window.show({"left": look(0.1)})
    assert not window._look_at.visible
    window.show({"left": look(0.1), "right": look(1.2)})
    assert window._look_at.visible and window._look_at.options == ("all robots", "left", "right")
    assert far(3, "/left") > 1.2 and far(5, "/left") > 1.2
    before = browsers[5].camera.position
    window._chosen(SimpleNamespace(client_id=3, client=browsers[3], target=SimpleNamespace(value="left")))
    assert 0.1 < far(3, "/left") < 0.5 and browsers[5].camera.position is before
    window.show({"left": look(0.1), "right": look(1.2), "third": look(3.0)})
    assert 0.1 < far(3, "/left") < 0.5 and far(5, "/left") > 3.0


@pytest.mark.parametrize("size", [0.003, 0.1, 30.0])
def test_a_camera_sees_the_whole_of_a_robot_of_any_size(window, size):
    window.show({"left": look(size)})
    camera = window._server.initial_camera
    near, far = (edge(np.linalg.norm(block(size) - camera.position, axis=1)) for edge in (np.min, np.max))
    assert camera.near < 0.1 * near and camera.far > 10.0 * far


class Film:
    """Of one body that rises by a millimetre a second."""

    robots, duration = ["left"], 2.0

    def at(self, seconds):
        return {"left": look(shift=1e-3 * seconds)}


def test_a_film_plays_at_its_speed_from_the_beginning_again_and_where_the_slider_is_put(window):
    player = Player(window, Film())

    def risen():
        return 1e3 * float(drawn(window, "/left/body").vertices[:, 2].min())

    player.go_on(0.5)
    assert risen() == pytest.approx(0.5, abs=1e-4)
    player._speed.value = "2"
    player.go_on(0.5)
    assert risen() == pytest.approx(1.5, abs=1e-4)
    player.go_on(0.5)
    assert risen() == pytest.approx(0.0, abs=1e-4)
    player._plays.value = False
    player.go_on(0.5)
    assert risen() == pytest.approx(0.0, abs=1e-4)
