"""Timing and the rows of a benchmark's table."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

Result = TypeVar("Result")


@dataclass(frozen=True)
class Figure:
    """One measured number: a row of a benchmark's table and a key of its JSON line.

    Attributes:
        key: name in the JSON object, dotted where figures belong together.
        what: what was measured, for the table.
        value: the number.
        unit: its unit, for the table.
        reach: what it should reach, as text; empty where nothing is asked.
    """

    key: str
    what: str
    value: float
    unit: str = ""
    reach: str = ""


def until_interrupted(results: Iterable[Result]) -> list[Result]:
    """The results, or those that there are where it is interrupted (Ctrl-C), which is told; without any it ends."""
    done = []
    try:
        for result in results:
            done.append(result)
    except KeyboardInterrupt:
        if not done:
            raise
        print("interrupted: what was done until then", flush=True)
    return done


def time_calls(
    call: Callable[[int], object], count: int, warm_up: int = 3, clock: Callable[[], float] = time.perf_counter
) -> np.ndarray:
    """Wall time, or that of another `clock` [s], of `call(i)` for i in 0…count−1, after `warm_up` unmeasured calls:
    (count,) in milliseconds."""
    for i in range(warm_up):
        call(i)
    times = np.empty(count)
    for i in range(count):
        start = clock()
        call(i)
        times[i] = 1e3 * (clock() - start)
    return times
