"""Who computes the necks that are held case by case, and what is counted of them."""

import contextlib
import runpy

import numpy as np
import pytest

from soft_twin.errors import UsageError
from soft_twin.parallel import Workers
from soft_twin.resources import folder
from soft_twin.studies.neck_held import HeldCase, HeldRow
from soft_twin.studies.neck_loop import Step


class NoNeck:
    def build_twin(self, name):
        return None


@pytest.fixture
def held_by(monkeypatch):
    """Who was asked to hold the necks, of a benchmark that measures nothing."""
    measure = runpy.run_path(str(folder("bench") / "neck.py"))["measure"]
    asked = []
    replaced = {
        "load_robot": lambda name: NoNeck(),
        "hold_all": lambda cases: [],
        "working_with": lambda workers: contextlib.nullcontext(asked.append(workers)),
        **dict.fromkeys(("_kinematics", "_fem", "_table"), lambda *_: []),
    }
    for name, replacement in replaced.items():
        monkeypatch.setitem(measure.__globals__, name, replacement)

    def held(**options):
        measure(models=(), **options)
        return asked.pop()

    return held


def test_the_cases_are_computed_by_those_who_were_asked_for(held_by):
    assert held_by(workers=3, cluster="tcp://host:8786") == Workers(3, "tcp://host:8786")
    assert held_by() == Workers(0)


def test_workers_that_cannot_be_are_refused_before_anything_is_measured(held_by):
    with pytest.raises(UsageError, match="-1"):
        held_by(workers=-1)


def test_payloads_count_as_found_and_as_told_honestly_by_different_limits():
    """Of 100 g 20 g may be missed; what is not known is neither."""
    known = [(0.115, 0.005), (0.130, 0.020), (0.0, 0.060), (np.nan, 0.4)]
    steps = [Step(1.0, 0.01, 0.1, mass, deviation) for mass, deviation in known]
    row = HeldRow(HeldCase("fem", 90.0, 0.1, 0), steps, steps, (0.0, 0.0, 0.0))
    held = runpy.run_path(str(folder("bench") / "neck.py"))["_held"]
    figures = {figure.key: figure.value for figure in held("fem", [row])}
    assert figures["held.fem.payloads"] == 25.0
    assert figures["held.fem.honest"] == 50.0
    assert figures["held.fem.payload_g"] == pytest.approx(80.0)
    assert figures["held.fem.told_g"] == pytest.approx(40.0)
