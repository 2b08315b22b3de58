"""`soft-twin view [RECORDING]`: robots in a browser: a recording's, played, or those of the graphs that run now."""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from soft_twin.errors import UsageError
from soft_twin.files import one_line
from soft_twin.viewing.film import Film
from soft_twin.viewing.over_time import OverTime, numbers_of
from soft_twin.viewing.window import PORT, Window, check_viewable

PICTURE = 0.04  # [s] between two pictures
STEP = 0.01  # [s] of the slider
MOMENTS = 500  # of a film that are drawn over time
SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "4", "10")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "recording", nargs="?", help="a bag's folder, .mcap or .db3; default: what runs now in this ROS domain"
    )
    parser.add_argument("--namespace", help="of the only robot that is wanted; default: all that there are")
    parser.add_argument("--port", type=int, default=PORT, help=f"of http://127.0.0.1; default {PORT}")


def run(arguments: argparse.Namespace) -> int:
    if arguments.recording is None:
        return _view_graphs(arguments)
    check_viewable(arguments.port)
    print(f"reading {arguments.recording}", flush=True)
    film = Film(arguments.recording, arguments.namespace)
    window = Window(arguments.port, Path(arguments.recording).name)
    player = Player(window, film)
    print(f"{', '.join(map(one_line, film.robots))}, {film.duration:.1f} s: {window.address} (Ctrl-C ends)", flush=True)
    shown = time.monotonic()
    try:
        while True:
            time.sleep(PICTURE)
            before, shown = shown, time.monotonic()
            player.go_on(shown - before)
    finally:
        window.close()


def _view_graphs(arguments: argparse.Namespace) -> int:
    """Show what runs now.

    Raises:
        UsageError: packages of ROS are missing.
    """
    from soft_twin_ros.ros_packages import check_ros

    try:
        check_ros()
    except UsageError as error:
        raise UsageError(f"{error}; a recording is shown without ROS: say which") from error
    from soft_twin_ros.viewer import view_graphs

    return view_graphs(arguments.port, arguments.namespace)


class Player:
    """A film in a window, with what plays it.

    Attributes:
        now: second of the film that is shown.
        over_time: plots of what its robots say.
    """

    def __init__(self, window: Window, film: Film):
        self._window, self._film, self.now = window, film, 0.0
        self._plays = window.gui.add_checkbox("play", True)
        self._speed = window.gui.add_dropdown("speed", SPEEDS, initial_value="1")
        self._slider = window.gui.add_slider("time [s]", 0.0, max(round(film.duration, 2), STEP), STEP, 0.0)
        self._slider.on_update(self._moved)
        times = np.linspace(0.0, film.duration, MOMENTS)
        said = [{robot: numbers_of(look) for robot, look in film.at(moment).items()} for moment in times]
        self.over_time = OverTime(window.gui, (0.0, film.duration))
        self.over_time.show(times, said)
        window.show(film.at(self.now))

    def go_on(self, seconds: float) -> None:
        """Play on for so long, from the beginning again where the film ends; show it."""
        if self._plays.value:
            self.now += seconds * float(self._speed.value)
            self.now = 0.0 if self.now > self._film.duration else self.now
            self._slider.value = self.now
        self._window.show(self._film.at(self.now))

    def _moved(self, event: Any) -> None:
        if event.client is not None:  # a person, not `go_on`
            self.now = float(self._slider.value)
