"""The comparison with SOFA."""

import runpy
import sys

import pytest

from soft_twin.app.cli import main
from soft_twin.resources import folder


def test_without_sofa_it_says_where_to_look(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "SofaRuntime", None)
    assert main(["bench", "sofa"]) == 2
    message = capsys.readouterr().err
    assert "SofaPython3" in message
    assert "SOFA_ROOT" in message


def test_both_find_the_same_equilibrium():
    pytest.importorskip("SofaRuntime", reason="needs SOFA with SofaPython3", exc_type=ImportError)
    measure = runpy.run_path(str(folder("bench") / "sofa.py"))["measure"]
    figures = {figure.key: figure.value for figure in measure(repeats=2)}
    assert figures["sag.ours_mm"] > 10.0
    assert figures["sag.polar_apart_mm"] < 0.1  # the laws differ in a tetrahedron's rotation
    assert figures["sag.large_apart_mm"] < 0.2
