"""Options of benchmarks that cannot be: refused in one line, before anything is started or computed."""

import json
import runpy
from types import SimpleNamespace

import pytest

from soft_twin.app import bench
from soft_twin.app.cli import main
from soft_twin.app.measuring import Figure
from soft_twin.resources import folder


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("emulated_targets --targets 1 --period 0", "--period 0: expected more than 0, 0.3 s at most"),
        ("emulated_targets --targets 1 --period 1", "--period 1: expected more than 0, 0.3 s at most"),
        ("emulated_targets --targets 1 --period -0.01", "--period -0.01: expected 0 or more"),
        ("nonsense --seconds -1", "--seconds -1.0: expected 0 or more"),
        ("fuzz --cases 3 --workers 0", "--workers: 0: expected 1 or more"),
        ("fuzz --cases 0", "--cases: 0: expected 1 or more"),
        ("imu_trust --cases 0", "--cases: 0: expected 1 or more"),
        ("neck --payloads 0.5 -1", "--payloads -1: expected 0 kg or more"),
        ("neck --models nosuch", "--models: 'nosuch' is none of pcc_arc"),
        ("robots --seconds 0", "--seconds: 0.0 s is not positive"),
        ("fault_campaign --cases 0", "--cases: 0: expected 1 or more"),
        ("launch --seconds 0", "--seconds: 0.0 s is not positive"),
        ("launch --load 0,a", "--load '0,a': expected numbers of processes"),
        ("launch --load=-1", "--load '-1': expected numbers of processes"),
        ("launch --load=", "--load '': expected numbers of processes"),
    ],
)
def test_options_that_cannot_be_are_refused_before_anything_begins(words, told, capsys, monkeypatch):
    monkeypatch.setattr("soft_twin_ros.watcher.watched", None)
    assert main(["bench", *words.split()]) == 2
    said = capsys.readouterr()
    assert said.err.startswith(f"soft-twin: {told}") and said.err.count("\n") == 1
    assert not said.out


def test_errors_of_runs_that_did_not_come_to_their_end_are_not_said_to_be_none(monkeypatch, capsys):
    assert main(["bench", "load", "--load", "0", "--times", "0"]) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["runs"] == figures["whole"] == 0
    assert figures["worst_tip_error_mm"] is figures["slowest_pace"] is figures["slow_for_s"] is None


def interrupted_after(count, result):
    """What gives a result so often, then is interrupted."""
    results = iter([result] * count)

    def call(*_):
        try:
            return next(results)
        except StopIteration:
            raise KeyboardInterrupt from None

    return call


@pytest.mark.parametrize(
    ("name", "part", "result", "told"),
    [
        ("load --load 0 --times 9", "_run", None, {"runs": 2, "whole": 0}),
        ("starts --later 8", "_start", (2.0, 3.0, 4.0), {"first.compensating": 2.0, "later.slowest": 2.0}),
        ("emulated_targets --targets 3", "_misses", True, {"targets": 2, "targets_unsolved": 2}),
    ],
)
def test_who_is_interrupted_is_told_what_was_done_until_then(name, part, result, told, monkeypatch, capsys):
    module = bench._load(name.split()[0])
    monkeypatch.setattr(bench, "_load", lambda _: module)
    monkeypatch.setattr(module, part, interrupted_after(2, result))
    if outcome := getattr(module, "Outcome", None):
        monkeypatch.setattr(module, "Outcome", lambda: outcome([1.0, 2.0], [3, 4]))
    assert main(["bench", *name.split()]) == 0
    said = capsys.readouterr().out
    assert "interrupted: what was done until then" in said
    assert json.loads(said.splitlines()[-1]).items() >= told.items()
    assert main(["bench", *name.split()]) == 130
    assert not capsys.readouterr().out.endswith("}\n")


def test_inclinations_of_the_neck_may_be_negative(monkeypatch):
    neck = runpy.run_path(str(folder("bench") / "neck.py"))
    asked = []
    module = SimpleNamespace(
        add_arguments=neck["add_arguments"], measure=lambda **options: asked.append(options) or [Figure("", "", 0.0)]
    )
    monkeypatch.setattr("soft_twin.app.bench._load", lambda name: module)
    assert main(["bench", "neck", "--inclinations", "-45"]) == 0
    assert asked[0]["inclinations"] == [-45.0]
