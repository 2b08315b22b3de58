"""The README's commands are what the Makefile and the command line have, and its Python runs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from soft_twin.app import COMMANDS
from soft_twin.app.cli import main
from soft_twin_ros.running.arguments import OF_A_ROBOT, SHARED

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def targets():
    return set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def test_make_targets_exist():
    named = set(re.findall(r"`?make ([a-z]+)", README))
    assert {"run", "test"} <= named <= targets()


def test_ci_runs_what_the_readme_says_for_tests():
    assert "make test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()


def test_commands_exist():
    named = set(re.findall(r"`soft-twin ([a-z]+)", README))
    assert {"run", "replay", "bench"} <= named <= COMMANDS.keys()


@pytest.mark.parametrize("command", sorted(set(re.findall(r"`soft-twin ([a-z]+)", README))))
def test_commands_explain_themselves(command, capsys):
    with pytest.raises(SystemExit) as ending:
        main([command, "--help"])
    assert ending.value.code == 0
    assert command in capsys.readouterr().out


def test_files_that_are_linked_exist():
    links = [link for link in re.findall(r"\]\(([^)#]+)[^)]*\)", README) if "://" not in link]
    assert links
    for link in links:
        assert (ROOT / link).exists(), link


@pytest.mark.parametrize("program", blocks("python"))
def test_python_runs(program):
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_launch_arguments_exist():
    for line in re.findall(r"ros2 launch soft_twin slender.launch.py([^`\n]*)", README):
        for argument in re.findall(r"(\w+):=", line):
            assert argument in SHARED | OF_A_ROBOT
