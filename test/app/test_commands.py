"""The command line: one line for every mistake, exit status 2, no traceback."""

import importlib
import json
import re

import numpy as np
import pytest
import yaml

import soft_twin
from soft_twin.app import COMMANDS, bench
from soft_twin.app import mesh as mesh_command
from soft_twin.app.cli import main
from soft_twin.app.measuring import Figure, time_calls
from soft_twin.errors import UsageError
from soft_twin.mesh.elements import ELEMENTS
from soft_twin.mesh.files import read_mesh, write_mesh
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.mesh.mesh import Mesh
from soft_twin.robots.fem_meshes import build_mesh

UNREACHABLE = "/" + 300 * "x" + ".mcap"  # what no system lets anybody look at, as others' folders for who is not root


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["run", "slendr"], "no robot 'slendr': did you mean 'slender'?"),
        (["run", "octopus"], "no robot 'octopus': there are arm, bellows"),
        (["validate", "lockng"], "nothing to validate is called 'lockng': did you mean 'locking'?"),
        (["mesh", "slendr"], "no robot 'slendr'"),
        (["mesh", "slender", "--out", "/proc/nowhere"], "cannot write meshes"),
        (["bench", "nothing"], "no benchmark 'nothing': there are"),
        (["replay", "/nowhere.mcap", "--robot", "slender"], "nowhere.mcap"),
        (["replay", "/nowhere.mcap", "--robot", "tm40"], "runs of 'tm40' are not replayed: only those of"),
        (["run", "slender", "--out", "/proc/nowhere"], "/proc/nowhere"),
        (["run", "slender", "--imu", "/nowhere.mat"], "nowhere.mat"),
        (["mesh", "--check", "/nowhere.vtu"], "no mesh at '/nowhere.vtu'"),
        (["mesh", "slender", "--check", "/nowhere.vtu"], "either a robot"),
        (["mesh", "slender", "--element", "hex8"], "--element hex8: of no use without --check"),
        (["mesh", "--check", "/nowhere.vtu", "--out", "x"], "--out x: of no use with --check"),
        (["validate", "locking", "--out", "/proc/nowhere"], "cannot write into '/proc/nowhere'"),
        (["report", "/"], "a folder without metadata.yaml, .mcap or .db3 in it"),
        (["diff", "/dev/zero", "/dev/zero"], "it is a device"),
        (["estimate", "/dev/null", "--out", "x.npz"], "ends in .mat"),
        (["replay", UNREACHABLE], "File name too long"),
        (["report", UNREACHABLE], "File name too long"),
        (["diff", UNREACHABLE, UNREACHABLE], "File name too long"),
        (["view", UNREACHABLE], "File name too long"),
        (["view", "/dev/null/x.db3"], "Not a directory"),
        (["estimate", UNREACHABLE, "--out", "x.npz"], "File name too long"),
        (["calibrate", "slender", UNREACHABLE], "File name too long"),
        (["run", "membrane", "--weights", UNREACHABLE], "File name too long"),
        (["emulate", "imu", "--link", UNREACHABLE, "--seconds", "0.1"], "File name too long"),
        (["validate", "nothing"], "nothing to validate is called 'nothing': there are"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(argv, message, capsys):
    assert main(argv) == 2
    printed = capsys.readouterr()
    lines = printed.err.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("soft-twin: ")
    assert message in lines[0]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_what_the_command_line_calls(name):
    module = importlib.import_module(f"soft_twin.app.{name}")
    assert callable(module.add_arguments)
    assert callable(module.run)


def test_help_names_every_command(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in COMMANDS)


@pytest.mark.parametrize("argv", [["calibrate", "slender", "a.mcap"], ["report", "a.mcap"], ["replay", "a.mcap"]])
def test_a_recording_too_many_is_told_with_the_usage_of_its_command(argv, capsys):
    with pytest.raises(SystemExit) as stop:
        main([*argv, "b.mcap"])
    assert stop.value.code == 2
    told = capsys.readouterr().err
    assert told.startswith(f"usage: soft-twin {argv[0]} ")
    assert told.splitlines()[-1] == f"soft-twin {argv[0]}: error: unrecognized arguments: b.mcap"


@pytest.mark.parametrize(
    "argv", [["run", "slender", "--out", ""], ["validate", "beam", "--data="], ["calibrate", "slender", ""]]
)
def test_an_empty_path_is_none_and_not_the_folder_where_one_is(argv, capsys):
    with pytest.raises(SystemExit) as stop:
        main(argv)
    assert stop.value.code == 2
    assert "expected a path, found an empty one" in capsys.readouterr().err.splitlines()[-1]


def test_meshes_are_made_as_described(tmp_path, capsys):
    gmsh_loads = True
    try:
        importlib.import_module("gmsh")
    except (ImportError, OSError):
        gmsh_loads = False
    if not gmsh_loads:
        pytest.skip("Gmsh is not installed here")
    assert main(["mesh", "slender", "--out", str(tmp_path)]) == 0
    assert "hex20r: 60 hex20r cells" in capsys.readouterr().out
    assert len(read_mesh(tmp_path / "slender_tet4.vtu", ELEMENTS["tet4"]).cells) > 4700
    assert len(read_mesh(tmp_path / "slender_hex20r.vtu").cells) == 60


def test_meshes_of_a_robot_of_ones_own_are_written_beside_its_description(tmp_path, capsys):
    """There the twin looks for them first; the package's own folder is not a laboratory's."""
    text = soft_twin.load_robot("neck").path.read_text(encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    assert main(["mesh", str(tmp_path / "mine.yaml")]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"mine.yaml", "neck_body.vtu", "neck_emulated.vtu"}
    assert str(tmp_path) in capsys.readouterr().out


def test_meshes_that_can_be_made_are_made_beside_one_that_cannot(tmp_path, monkeypatch, capsys):
    def build(source, folder):
        if source.element == "tet4":
            raise UsageError("Gmsh is needed")
        return build_mesh(source, folder)

    monkeypatch.setattr(mesh_command, "build_mesh", build)
    assert main(["mesh", "slender", "--out", str(tmp_path)]) == 2
    printed = capsys.readouterr()
    assert "Gmsh is needed" in printed.err and printed.err.count("\n") == 1
    assert len(list(tmp_path.glob("*.vtu"))) == printed.out.count("->") > 1


def test_a_robot_whose_meshes_are_files_has_none_to_make(tmp_path, capsys):
    text = soft_twin.load_robot("finger").path.read_text(encoding="utf-8")
    robot = yaml.safe_load(text)
    robot["robot"]["body"]["mesh"] = {"file": "own.msh", "size": [0.02, 0.018, 0.08]}
    del robot["robot"]["emulated"]["mesh"]
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(robot), encoding="utf-8")
    assert main(["mesh", str(tmp_path / "mine.yaml"), "--out", str(tmp_path / "out")]) == 2
    assert "'finger' has no meshes to make: its description names files" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_meshes_are_written_nowhere_but_into_the_folder_that_is_said(tmp_path, capsys):
    text = soft_twin.load_robot("slender").path.read_text(encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(text.replace("file: slender_tet4.vtu", "file: ../evil.vtu"), encoding="utf-8")
    assert main(["mesh", str(tmp_path / "mine.yaml"), "--out", str(tmp_path / "out")]) == 2
    assert "meshes.tet4.file: expected a file's name without folders" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "evil.vtu").exists()


def test_a_mesh_is_described_and_refused_when_broken(tmp_path, capsys):
    mesh = voxel_mesh(np.ones((2, 2, 2), bool), 0.01, "tet4")
    write_mesh(mesh, tmp_path / "good.vtu")
    assert main(["mesh", "--check", str(tmp_path / "good.vtu")]) == 0
    assert "cells            48 tet4, 27 nodes" in capsys.readouterr().out
    cells = np.vstack([mesh.cells[:, [0, 2, 1, 3]][:1], mesh.cells[1:]])
    write_mesh(Mesh(mesh.nodes, cells, mesh.element), tmp_path / "bad.vtu")
    assert main(["mesh", "--check", str(tmp_path / "bad.vtu")]) == 2
    printed = capsys.readouterr()
    assert "1 inverted" in printed.out
    assert "1 of 48 cells are inverted or flat, the first is 0" in printed.err


def test_the_quality_of_a_mesh_with_nodes_that_are_not_finite_is_not_told(tmp_path, capsys):
    mesh = voxel_mesh(np.ones((2, 2, 2), bool), 0.01, "tet4")
    nodes = np.vstack([np.zeros(3), mesh.nodes])  # the first is no cell's
    nodes[6] = np.nan
    write_mesh(Mesh(nodes, mesh.cells + 1, mesh.element), tmp_path / "nan.vtu")
    assert main(["mesh", "--check", str(tmp_path / "nan.vtu")]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and "node 6 is not finite" in printed.err


@pytest.mark.parametrize(("scale", "guess"), [(1e3, "20 m, .* in millimetres"), (1e-3, "2e-05 m, .* scaled twice")])
def test_a_mesh_of_an_implausible_size_is_refused(tmp_path, capsys, scale, guess):
    write_mesh(voxel_mesh(np.ones((2, 2, 2), bool), scale * 0.01, "hex8"), tmp_path / "mesh.vtu")
    assert main(["mesh", "--check", str(tmp_path / "mesh.vtu")]) == 2
    assert re.search(f"measures {guess}", capsys.readouterr().err)


def test_a_benchmark_prints_a_table_and_ends_with_json(monkeypatch, capsys, tmp_path):
    (tmp_path / "tiny.py").write_text(
        "from soft_twin.app.measuring import Figure\n"
        "def measure():\n"
        "    return [Figure('speed.median', 'median speed', 1.25, 'm/s', '>= 1')]\n"
    )
    monkeypatch.setattr(bench, "folder", lambda name: tmp_path)
    assert main(["bench", "tiny"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["median", "speed", "1.25", "m/s", ">=", "1"]
    assert json.loads(lines[-1]) == {"speed.median": 1.25}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--targets", "-1"], "--targets -1: expected 0 or more"),
        (["--tilts", "30", "nan"], "--tilts nan: expected a finite number"),
    ],
)
def test_counts_and_measures_that_a_benchmark_cannot_use_are_told(monkeypatch, capsys, tmp_path, words, message):
    (tmp_path / "tiny.py").write_text(
        "def add_arguments(parser):\n"
        "    parser.add_argument('--targets', type=int, default=1)\n"
        "    parser.add_argument('--tilts', type=float, nargs='*', default=(-30.0,))\n"
        "from soft_twin.app.measuring import Figure\n"
        "def measure(targets, tilts):\n"
        "    return [Figure('worst', 'of all targets', 1.0, 'mm')]\n"
    )
    monkeypatch.setattr(bench, "folder", lambda name: tmp_path)
    assert main(["bench", "tiny", "--tilts", "-30"]) == 0
    assert main(["bench", "tiny", *words]) == 2
    assert capsys.readouterr().err == f"soft-twin: {message}\n"


def test_the_json_of_a_benchmark_is_json_where_a_figure_is_no_number(monkeypatch, capsys, tmp_path):
    (tmp_path / "tiny.py").write_text(
        "from soft_twin.app.measuring import Figure\n"
        "def measure():\n"
        "    return [Figure('worst', 'of no targets', float('nan'), 'mm')]\n"
    )
    monkeypatch.setattr(bench, "folder", lambda name: tmp_path)
    assert main(["bench", "tiny"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == '{"worst": null}'


def test_tables_line_up():
    lines = bench.table([Figure("a", "short", 1.0), Figure("b", "a longer name", 123456.0, "ms", "< 5")]).splitlines()
    assert len(lines) == 2
    assert lines[0].index("1") > lines[0].index("short")


def test_calls_are_timed_one_by_one():
    calls = []
    times = time_calls(calls.append, count=5, warm_up=2)
    assert calls == [0, 1, 0, 1, 2, 3, 4]
    assert times.shape == (5,)
    assert np.isfinite(times).all()


def test_the_folder_of_an_unknown_resource_is_an_error():
    from soft_twin.resources import folder

    with pytest.raises(UsageError, match="'nonsense' of soft_twin is not installed"):
        folder("nonsense")
