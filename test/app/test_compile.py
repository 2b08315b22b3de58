"""`soft-twin compile` says what it does while it does it."""

from operator import methodcaller

import numba
import pytest

from soft_twin.app import compile as compiling
from soft_twin.app.cli import main
from soft_twin.errors import UsageError


@pytest.fixture
def other(monkeypatch):
    """What moves bodies is one kernel; `other(what)`: its process does that with the pipe in place of its work."""
    for name in ("_compile_driven", "_compile_plate"):
        monkeypatch.setattr(compiling, name, lambda robot: None)
    monkeypatch.setattr(compiling, "_compile_rubber", lambda: numba.njit(lambda x: x + 1)(1))
    return lambda what: monkeypatch.setattr(compiling, "_compile_estimators", what)


def test_kernels_of_both_processes_are_told_as_they_are_compiled(other, monkeypatch, capsys):
    other(methodcaller("send", 3))
    told = []
    monkeypatch.setattr(compiling, "terminal_progress", told.append)
    assert main(["compile"]) == 0
    assert told[-2:] == ["kernels: 4 compiled, which takes a minute or two in all", ""]
    assert capsys.readouterr().out.startswith("kernels compiled in ")


@pytest.mark.parametrize(
    ("what", "word"),
    [
        (methodcaller("send", UsageError("no room in 'there'")), "no room in 'there'"),
        (methodcaller("nonsense"), "the process of the estimators' kernels has ended with 1"),
    ],
    ids=["told", "broken"],
)
def test_what_ends_the_other_process_is_told_at_the_end(other, capsys, what, word):
    other(what)
    assert main(["compile"]) != 0
    assert word in capsys.readouterr().err
