"""The benchmark of the drivers measures drivers that live."""

import runpy

from soft_twin.resources import folder

DRIVERS = runpy.run_path(str(folder("bench") / "drivers.py"))


def test_valves_are_updated_all_the_while(monkeypatch):
    monkeypatch.setitem(DRIVERS["_valves"].__globals__, "VALVE_TIME", 1.0)
    median, tail, _ = DRIVERS["_valves"]()
    assert 0.0 < median.value <= tail.value
