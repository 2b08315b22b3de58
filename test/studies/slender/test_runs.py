"""Every experiment's whole run, in small: a table that says what it shall, in JSON too, a picture and a recording."""

import json
from functools import partial
from types import SimpleNamespace

import pytest

from soft_twin.app.cli import main
from soft_twin.calibration.tune import search_grid
from soft_twin.parallel import Workers, working_with
from soft_twin.recording.reader import arrays
from soft_twin.studies import EXPERIMENTS, imu_ablation
from soft_twin.studies.slender import (
    arm,
    bent,
    carried,
    friction,
    handheld,
    heating,
    long,
    loop,
    poses,
    real2sim,
    shared,
    speed,
    static,
    tracker,
    tune,
)

KNOWN = {"young_modulus": 0.72e6, "density": 1150.0, "mass_damping": 0.42, "stiffness_damping": 0.42}
SHORT = {
    arm: {"POSES": arm.POSES[:2], "PLACES": 0.1 * arm.PLACES[:2], "LEG": 0.06, "ROUNDS": 1,
          "FINE": arm.FINE | {"divisions": [1, 6, 3]}},
    bent: {"POSES": bent.POSES[:1], "MOVE": 0.06, "STAY": 0.06, "LOOKED": 0.04, "SETTLING": 0.04},
    friction: {"FRICTIONS": (0.2,), "DURATION": 1.0, "SIMULATIONS": 1},
    handheld: {"DURATION": 0.4, "STILL": 0.1, "SLOWLY": ((0.0, 30.0), (0.4, 20.0)), "JERKS": (0.2,),
               "PHASES": {"still": (0.0, 0.1), "tremor": (0.1, 0.2), "tremor and jerks": (0.2, 0.4)}},
    heating: {"DURATION": 1.0, "WARM_UP": 1.0, "TRIALS": (1,)},
    long: {"POSES": long.POSES[:1]},
    real2sim: {"INCLINATIONS": (45.0, 0.0), "FALL": 0.2},
    speed: {"TURNS": (800.0,), "TRAVELS": (4.0,), "FAST": (800.0,), "PAUSE": 0.04, "AFTER": 0.04},
    static: {"POSES": static.POSES[:1]},
    tracker: {"TURNS": (0.0, 0.2), "TURN": 0.2, "DURATION": 0.5, "BEGIN": 0.2, "END": 0.3, "BACK": 0.1, "LOOKED": 0.1,
              "CASES": {case: tracker.CASES[case] for case in ("no tracker", "silent")}},
    tune: {"FALL": 0.24},
}  # fmt: skip
FILES = {"arm": "arm", "friction": "moved_0.2", "heating": "heating", "tune": "release"}


@pytest.fixture
def brief(small, monkeypatch):
    """Short loops of small robots, whose twin needs no tuning."""
    for module, name, value in (
        *(
            (poses, name, value)
            for name, value in (
                ("SAGGING", 0.06),
                ("TAKEN", 0.04),
                ("RAMP", 0.06),
                ("HELD", 0.06),
                ("LAST", 0.04),
                ("LONGEST_DELAY", 0.04),
            )
        ),
        (imu_ablation, "WARM_UP", 1.0),
        (imu_ablation, "_CALIBRATION_WARM_UP", 1.0),
        (loop, "SETTLED", 1.0),
        (carried, "BEFORE", 0.04),
        (shared, "RECORDED", 0.02),
    ):
        monkeypatch.setattr(module, name, value)

    def emulated(folder, name="slender_real", **changes):
        damping = {"rayleigh_mass": 0.42, "rayleigh_stiffness": 0.42}
        return small(name, body__damping=damping, **{key.replace(".", "__"): each for key, each in changes.items()})

    def tuned(folder, real):
        return small(
            "tuned", **{key.replace(".", "__"): each for key, each in shared.tuned_values(KNOWN).items()}
        ), KNOWN

    def made(folder, name, changes):
        return small(name, **{key.replace(".", "__"): each for key, each in changes.items()})

    for module in SHORT:
        for name, value in SHORT[module].items():
            monkeypatch.setattr(module, name, value)
        for name, stand_in in (("emulated_robot", emulated), ("tuned_twin", tuned), ("variant", made)):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, stand_in)


@pytest.mark.parametrize("module", [each for each in SHORT if each is not tune], ids=lambda each: each.__name__[-8:])
def test_a_run_tells_draws_and_records(module, brief, tmp_path):
    name = module.__name__.rpartition(".")[2]
    assert f"slender/{name}" in EXPERIMENTS
    with working_with(Workers(1)):
        told = module.run(tmp_path, tmp_path)
    content = json.loads((tmp_path / "table.json").read_text())
    values = [value for row in content["rows"] for key, value in row.items() if not key.startswith("sofa_")]  # if there
    assert any(isinstance(value, float) for value in values) and "loop" in content
    assert None not in values, "a number is not finite"
    assert len(told.splitlines()) > len(content["rows"])
    assert (tmp_path / f"{name}.png").stat().st_size > 10_000
    recorded = arrays(tmp_path / f"{FILES.get(name, name)}.mcap")
    assert "/slender/run/phase" in recorded and len(recorded) > 2


def test_a_friction_that_is_known_well_is_not_told_as_known_exactly():
    row = {
        "friction": 0.25,
        "found": {"cable_friction": 0.256},
        "uncertainties": {"cable_friction": 0.0021},
        "predicted_mm": {"with friction": 0.07, "without": 3.82},
        "held_deviation": 2.1,
        "moved_deviation": 0.0021,
    }
    head, line = friction.table([row]).splitlines()
    assert "0.256 ±  0.21 %" in line and len(head) == len(line)


def test_a_tuning_keeps_its_simulations(brief, tmp_path, monkeypatch):
    coarse = {"moduli": (0.6e6, 0.8e6, 1.0e6, 1.2e6), "dampings": (0.2, 0.4, 0.6, 0.8)}
    monkeypatch.setattr(tune, "search_grid", partial(search_grid, **coarse))
    with working_with(Workers(1)):
        told = tune.run(tmp_path, tmp_path)
    assert "gradients" in told and (tmp_path / "tune.png").exists()
    assert len(list((tmp_path / "trials").glob("*.npz"))) == 16
    assert len(list((tmp_path / "simulations").glob("*.npz"))) > 1


def test_all_experiments_of_a_word_are_run_one_after_the_other(tmp_path, monkeypatch, capsys):
    done = []
    for name in ("one", "other"):
        monkeypatch.setitem(EXPERIMENTS, f"small/{name}", f"the {name}")
    modules = SimpleNamespace(import_module=lambda path: Study(path, done))
    monkeypatch.setattr("soft_twin.app.study.importlib", modules)
    assert main(["experiment", "small", "--out", str(tmp_path), "--workers", "1"]) == 0
    assert done == ["small/one", "small/other"] and (tmp_path / "one").is_dir()
    assert "== small/other: the other" in capsys.readouterr().out
    assert main(["experiment", "smal"]) == 2


class Study:
    """In place of a study's module."""

    def __init__(self, path, done):
        self.path, self.done = path, done

    def run(self, folder, data):
        self.done.append(self.path.partition("studies.")[2])
        return "a table"
