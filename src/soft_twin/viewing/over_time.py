"""What robots said over time, as plots in the column of a page: how far tips are from their targets, and efforts."""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from soft_twin.files import one_line
from soft_twin.viewing.look import SILENT, Look, Row

HEIGHT = 150  # [pixels]
COLOURS = ("#19559f", "#f28c59", "#008c3c", "#b0307a", "#7a5c1e", "#5a5a5a", "#00a0a0", "#8060c0", "#c0a000")
DECIMALS = 3  # that are read where the pointer is
LAST, SAMPLE, DRAW = 60.0, 0.2, 1.0  # [s] of what runs: how much is drawn, between two samples, between two drawings

Numbers = Mapping[str, Mapping[str, float]]  # of curves, by titles with units and by names


def numbers_of(look: Look) -> Numbers:
    """What of a look is drawn over time; nothing while the robot is silent."""
    found: dict[str, Mapping[str, float]] = {}
    if look.silent > SILENT:
        return found
    if np.isfinite(look.error):
        found["tip from its target [mm]"] = {"distance": 1e3 * look.error}
    rows = {what: row for what, row in look.told.items() if isinstance(row, Row)}
    return found | {f"{what} [{row.unit}]": row.curves for what, row in rows.items() if row.curves}


class OverTime:
    """Plots of each robot, in a folder that is closed until somebody opens it.

    Args:
        gui: viser's.
        span: of times that are drawn [s].
    """

    def __init__(self, gui: Any, span: tuple[float, float]):
        self._gui, self._span, self._folder = gui, span, gui.add_folder("over time", expand_by_default=False)
        self._plots: dict[str, tuple[list[str], Any]] = {}  # names of curves and plots, by titles

    def show(self, times: Sequence[float], said: Sequence[Mapping[str, Numbers]]) -> None:
        """Draw what was said at times [s], ascending, by robots' names; what is not in it is drawn no more."""
        data: dict[str, tuple[list[str], list[list[float]]]] = {}
        for time, robots in zip(times, said, strict=True):
            for robot, numbers in robots.items():
                for title, curves in numbers.items():
                    names, rows = data.setdefault(f"{one_line(robot)}: {title}", (list(curves), []))
                    if list(curves) == names and np.isfinite(list(curves.values())).all():
                        rows.append([time, *curves.values()])
        data = {title: (names, rows) for title, (names, rows) in data.items() if rows}
        for title, (names, _) in list(self._plots.items()):
            if title not in data or data[title][0] != names:
                self._plots.pop(title)[1].remove()
        for title, (names, rows) in sorted(data.items()):
            self._draw(title, names, tuple(np.round(np.array(rows, dtype=float).T, DECIMALS)))

    def _draw(self, title: str, names: list[str], data: tuple[np.ndarray, ...]) -> None:
        if title in self._plots:
            self._plots[title][1].data = data
            return
        lines = ({"label": name, "stroke": COLOURS[k % len(COLOURS)], "width": 1} for k, name in enumerate(names))
        with self._folder:
            plot = self._gui.add_uplot(
                data,
                ({"label": "time [s]"}, *lines),
                title=title,
                scales={"x": {"time": False, "range": self._span}},
                legend={"show": len(names) > 1},
                height=HEIGHT,
            )
        self._plots[title] = names, plot


class LastMinute:
    """What robots that run have said, drawn as it goes on, seconds ago.

    Args:
        gui: viser's.
    """

    def __init__(self, gui: Any):
        self._plots, self._next_sample, self._next_drawing = OverTime(gui, (-LAST, 0.0)), 0.0, 0.0
        self._times: deque[float] = deque()
        self._said: deque[Mapping[str, Numbers]] = deque()

    def take(self, now: float, looks: Mapping[str, Look]) -> None:
        """How robots look now [s]."""
        if now < self._next_sample:
            return
        self._next_sample = now + SAMPLE
        self._times.append(now)
        self._said.append({robot: numbers_of(look) for robot, look in looks.items()})
        while self._times[0] < now - LAST:
            self._times.popleft()
            self._said.popleft()
        if now >= self._next_drawing:
            self._next_drawing = now + DRAW
            self._plots.show([time - now for time in self._times], self._said)
