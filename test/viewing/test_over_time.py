"""What is drawn over time: where tips were from their targets, and efforts, while robots spoke."""

import socket
from contextlib import closing

import numpy as np
import pytest

from soft_twin.viewing.look import Look, Pose, Row
from soft_twin.viewing.over_time import LAST, LastMinute, OverTime, numbers_of

pytest.importorskip("viser")

from soft_twin.app.view import MOMENTS, Player
from soft_twin.viewing.window import HOST, Window

STILL = np.array([1.0, 0.0, 0.0, 0.0])
TIP, TENSIONS = "left: tip from its target [mm]", "left: tensions [N]"


@pytest.fixture
def gui():
    with closing(socket.create_server((HOST, 0))) as server:
        port = server.getsockname()[1]
    window = Window(port)
    yield window.gui
    window.close()


def look(millimetres, tensions=(), silent=0.0):
    """Of a robot whose tip is so far from its target."""
    target, tip = Pose(np.zeros(3), STILL), Pose(np.array([0.0, 0.0, 1e-3 * millimetres]), STILL)
    names = tuple(f"cable_{k}" for k, _ in enumerate(tensions))
    return Look(tip=tip, target=target, told={"phase": "with", "tensions": Row(names, tensions, "N")}, silent=silent)


def drawn(plots):
    """By titles: names of curves, and what is drawn (curves with the time first, moments)."""
    return {
        title: ([curve["label"] for curve in plot.series[1:]], np.array(plot.data))
        for title, (_, plot) in plots._plots.items()
    }


def test_distances_and_efforts_are_drawn_and_words_and_what_is_old_are_not():
    assert numbers_of(look(2.0, (0.5, 0.25))) == {
        "tip from its target [mm]": {"distance": 2.0},
        "tensions [N]": {"cable_0": 0.5, "cable_1": 0.25},
    }
    assert numbers_of(look(2.0, tuple(np.arange(40.0))))["tensions [N]"] == {"least": 0.0, "largest": 39.0}
    assert numbers_of(look(2.0, (0.5,), silent=1.5)) == numbers_of(Look()) == {}
    assert set(numbers_of(look(2.0))) == {"tip from its target [mm]"}


def test_a_curve_has_the_moments_at_which_something_was_said(gui):
    plots = OverTime(gui, (0.0, 4.0))
    moments = [look(0.0), look(3.0, (1.0, 2.0)), look(9.0, (9.0, 9.0), silent=5.0), look(5.0, (3.0, 4.0))]
    plots.show([0.5, 1.0, 1.5, 2.0], [{"left": numbers_of(each)} for each in moments])
    seen = drawn(plots)
    assert set(seen) == {TIP, TENSIONS} and seen[TENSIONS][0] == ["cable_0", "cable_1"]
    np.testing.assert_allclose(seen[TIP][1], [[0.5, 1.0, 2.0], [0.0, 3.0, 5.0]])
    np.testing.assert_allclose(seen[TENSIONS][1], [[1.0, 2.0], [1.0, 3.0], [2.0, 4.0]])


def test_what_is_not_known_or_has_no_name_spoils_no_curve(gui):
    plots = OverTime(gui, (0.0, 4.0))
    nameless = Look(told={"tensions": Row((), (1.0, 2.0), "N")})
    plots.show([0.0, 1.0], 2 * [{"left": numbers_of(nameless)}])
    assert drawn(plots) == {}
    moments = [look(np.nan, (1.0, np.nan)), look(1.0, (1.0, 2.0)), look(2.0, (np.nan, 2.0))]
    plots.show([0.0, 1.0, 2.0], [{"left": numbers_of(each)} for each in moments])
    np.testing.assert_allclose(drawn(plots)[TENSIONS][1], [[1.0], [1.0], [2.0]])
    plots.show([0.0], [{"left": numbers_of(look(1.0, (np.nan, np.nan)))}])
    assert set(drawn(plots)) == {TIP}


def test_robots_that_begin_anew_with_other_cables_or_are_gone_leave_no_plots_behind(gui):
    plots = OverTime(gui, (0.0, 4.0))
    for tensions in ((1.0,), (1.0, 2.0)):
        plots.show([0.0, 1.0], 2 * [{"left": numbers_of(look(1.0, tensions))}])
    assert drawn(plots)[TENSIONS][0] == ["cable_0", "cable_1"]
    plots.show([0.0, 1.0], 2 * [{"left": numbers_of(look(1.0))}])
    assert set(drawn(plots)) == {TIP}
    plots.show([0.0, 1.0], [{}, {}])
    assert drawn(plots) == {}


def test_of_what_runs_the_last_minute_is_kept_and_no_more(gui):
    last = LastMinute(gui)
    for k in range(round(200.0 / 0.04)):
        last.take(1000.0 + 0.04 * k, {"left": look(0.04 * k)})
    times, distances = drawn(last._plots)[TIP][1]
    assert -LAST <= times[0] < -LAST + 1.0 and times[-1] == 0.0
    np.testing.assert_allclose(np.diff(distances), np.diff(times), atol=2e-3)
    assert len(times) <= 300


def test_a_film_is_drawn_as_a_whole():
    class Film:
        robots, duration = ["left"], 2.0

        def at(self, seconds):
            return {"left": look(10.0 * seconds)}

    with closing(socket.create_server((HOST, 0))) as server:
        port = server.getsockname()[1]
    window = Window(port)
    times, distances = drawn(Player(window, Film()).over_time)[TIP][1]
    window.close()
    assert len(times) == MOMENTS and (times[0], times[-1]) == (0.0, 2.0)
    np.testing.assert_allclose(distances, 10.0 * times, atol=0.02)
