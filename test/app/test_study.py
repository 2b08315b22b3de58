"""What `experiment` and `validate` share: options that some studies have, and where results go."""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import pytest
import yaml

from soft_twin.app.cli import main
from soft_twin.app.study import OPTIONS, run_study
from soft_twin.errors import UsageError
from soft_twin.resources import folder

STUDIES = {
    "plain": "one without options",
    "drawn": "one with files that cannot be written",
    "twice": "one that computes one thing behind the other",
    "learning/slender": "one with all of them",
}
PLAIN = "def run(folder, data):\n    return 'done'\n"
DRAWN = """from matplotlib.figure import Figure
from soft_twin.studies.results import write_picture, write_text
def run(folder, data):
    write_text(folder / "nowhere" / "table.json", "{}")
    write_picture(folder / "nowhere" / "curve.png", Figure())
    write_picture(folder / "drawn.png", Figure())
    return 'done'
"""
TWICE = """from pathlib import Path
from soft_twin.parallel import compute_here
def compute(case):
    if case == 3 and not Path("second life").exists():
        raise KeyboardInterrupt
    with open("done", "a") as done:
        done.write(f"{case} ")
    return case
def run(folder, data):
    return str(compute_here(compute, [0, 1], "firsts") + compute_here(compute, [2, 3], "seconds"))
"""
LEARNING = """import json
def run(folder, data, robot='slender', simulations=None, seed=0, seeds=5):
    return json.dumps([str(folder), str(robot), simulations, seed, seeds])
"""


@pytest.fixture
def study(tmp_path, monkeypatch, capsys):
    """Runs one of STUDIES with options; what it printed first."""
    (tmp_path / "own_studies" / "learning").mkdir(parents=True)
    (tmp_path / "own_studies" / "plain.py").write_text(PLAIN, encoding="utf-8")
    (tmp_path / "own_studies" / "drawn.py").write_text(DRAWN, encoding="utf-8")
    (tmp_path / "own_studies" / "twice.py").write_text(TWICE, encoding="utf-8")
    (tmp_path / "own_studies" / "learning" / "slender.py").write_text(LEARNING, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("own_studies.plain", None)  # as a test before has changed it
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("soft_twin.app.study.MODULES", {("experiment", "learning/slender"): "learning.slender"})

    def run(name, **options):
        given = dict.fromkeys(OPTIONS) | {"out": None, "data": None, "workers": 1, "cluster": None} | options
        run_study(argparse.Namespace(name=name, **given), STUDIES, "experiment", "own_studies")
        return capsys.readouterr().out.partition("\n")[0]

    return run


def test_options_go_to_the_studies_that_have_them(study):
    assert study("plain") == "done"
    told = json.loads(study("learning/slender", simulations=256, seed=0, seeds=1))
    assert told == ["out/experiment/learning/slender", "slender", 256, 0, 1]
    assert json.loads(study("learning/slender"))[2:] == [None, 0, 5]


def test_results_of_another_robot_go_beside_those_of_the_studys_own(study, tmp_path):
    path = tmp_path / "laboratory.yaml"
    content = yaml.safe_load((folder("config") / "slender.yaml").read_text(encoding="utf-8"))
    content["robot"]["name"] = "ours"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    assert json.loads(study("learning/slender", robot=str(path)))[:2] == ["out/experiment/learning/ours", str(path)]
    assert json.loads(study("learning/slender", robot=str(path), out=Path("mine")))[0] == "mine"


def test_options_that_are_of_no_use_and_values_that_cannot_be_are_told(study):
    for name, value in (("robot", "slender"), ("simulations", 9), ("seed", 0), ("seeds", 2)):
        with pytest.raises(UsageError, match=f"--{name} {value}: of no use to 'plain', leave it out"):
            study("plain", **{name: value})
    for name, value, least in (("simulations", 1, 2), ("seed", -1, 0), ("seeds", 0, 1)):
        with pytest.raises(UsageError, match=f"--{name} {value}: expected {least} or more"):
            study("learning/slender", **{name: value})


def test_a_table_is_printed_though_files_cannot_be_written(study, tmp_path, capsys):
    message = "cannot write 'mine/nowhere/table.json', nor 1 more: No such file or directory; the table above is whole"
    with pytest.raises(UsageError, match=message):
        study("drawn", out=Path("mine"))
    assert capsys.readouterr().out == "done\n"
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["drawn.png"]


def test_what_was_computed_first_is_kept_until_the_study_has_ended(study, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)  # it remembers
    with pytest.raises(KeyboardInterrupt, match="1 of 2 seconds are kept, the same again goes on"):
        study("twice")
    (tmp_path / "second life").touch()
    assert study("twice") == "[0, 1, 2, 3]"
    assert (tmp_path / "done").read_text(encoding="utf-8") == "0 1 2 3 "
    assert not list(tmp_path.rglob("unfinished/*"))


def test_a_folder_that_cannot_be_written_is_told_before_the_work(study, capsys):
    with pytest.raises(UsageError, match="cannot write into '/proc'"):
        study("plain", out=Path("/proc"))
    assert not capsys.readouterr().out


def test_a_cluster_of_no_use_is_told(study, tmp_path):
    with pytest.raises(UsageError, match="--cluster local: of no use to 'plain', leave it out"):
        study("plain", cluster="local")
    pytest.importorskip("distributed")
    path = tmp_path / "own_studies" / "plain.py"
    path.write_text(f"from soft_twin.parallel import compute_here\n{PLAIN}", encoding="utf-8")
    sys.modules.pop("own_studies.plain")
    assert study("plain", cluster="local") == "done"


def test_processes_of_no_use_are_told(study, tmp_path):
    with pytest.raises(UsageError, match="--workers 2: of no use to 'plain', leave it out"):
        study("plain", workers=2)
    assert [study("plain", workers=count) for count in (0, 1)] == ["done", "done"]
    (tmp_path / "second life").touch()
    assert study("twice", workers=2) == "[0, 1, 2, 3]"


@pytest.mark.parametrize("option", ["--cluster local", "--workers 2"])
def test_workers_are_of_no_use_to_what_measures_time(capsys, tmp_path, option):
    assert main(["validate", "scale", *option.split(), "--out", str(tmp_path)]) == 2
    assert f"{option}: of no use to 'scale', leave it out" in capsys.readouterr().err


def test_the_command_line_has_them(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert main(["experiment", "imu", "--simulations", "7"]) == 2
    assert "--simulations 7: of no use to 'imu'" in capsys.readouterr().err
    assert main(["experiment", "learning/membrane", "--robot", "slender", "--seeds", "1"]) == 2
    assert "nothing of robot 'slender' is learned" in capsys.readouterr().err
