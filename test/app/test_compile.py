"""`soft-twin compile` says what it does while it does it."""

import numba

from soft_twin.app import compile as compiling
from soft_twin.app.cli import main


def test_kernels_are_told_as_they_are_compiled(monkeypatch, capsys):
    for name in ("_compile_driven", "_compile_plate", "_compile_arm", "warm_up"):
        monkeypatch.setattr(compiling, name, lambda robot: None)
    monkeypatch.setattr(compiling, "_compile_rubber", lambda: numba.njit(lambda x: x + 1)(1))
    monkeypatch.setattr("soft_twin.parallel.terminal_progress._logged", float("-inf"))
    assert main(["compile"]) == 0
    told = capsys.readouterr()
    assert "kernels: 1 compiled, which takes a minute or two in all\n" in told.err
    assert told.out.startswith("kernels compiled in ")
