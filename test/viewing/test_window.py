"""What a page in the browser is told, and that it is told on this machine alone."""

import socket
import urllib.request
from contextlib import closing

import numpy as np
import pytest

from soft_twin.errors import UsageError
from soft_twin.viewing.look import Look, Pose

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
    for wrong in (port, 70_000, -1):
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
