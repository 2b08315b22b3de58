"""Fast tests of the library beside the Python, numpy and scipy of each ROS distribution: `make distributions`.

Each gets an environment of its own in .venv/distributions, from wheels. Versions are those of the Ubuntu release that
the distribution is for, where wheels of them can be had; nodes and launch files are not tested here.
"""

import argparse
import glob
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENTS = ROOT / ".venv" / "distributions"
NOBLE = ("3.12", ("numpy==1.26.4", "scipy==1.11.4"))
DISTRIBUTIONS = {
    "humble": ("3.10", ("numpy==1.21.5", "scipy==1.8.0", "numba==0.55.1", "matplotlib==3.5.1")),
    "jazzy": NOBLE,
    "kilted": NOBLE,
}
# Of the extra `test` what these folders' tests want: JAX has no wheel for an old numpy.
TOOLS = ("c3d", "cantools", "hypothesis", "jsonschema", "optuna", "pytest", "pytest-timeout", "vqf")
FOLDERS = ("descriptions", "inverse", "linear_algebra", "mesh", "recording", "sensing")  # minutes, not tens of them


def main() -> int:
    """Test in the environments that are asked for; 1 where tests failed or nothing could be tested."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(DISTRIBUTIONS)}; default: all")
    asked = parser.parse_args().names or list(DISTRIBUTIONS)
    pairs: dict[tuple, list[str]] = {}
    for name in asked:
        pairs.setdefault(DISTRIBUTIONS[name], []).append(name)
    outcomes = [_tried(", ".join(names), *pair) for pair, names in pairs.items()]
    return 0 if all(outcomes) else 1


def _tried(names: str, version: str, pins: tuple[str, ...]) -> bool:
    """Whether all tests pass; says what was run."""
    python = _interpreter(version)
    if python is None:
        print(f"{names}: not run, no Python {version} is here", flush=True)
        return False
    try:
        environment = _environment(python, version, pins)
    except subprocess.CalledProcessError as error:
        said = (error.stderr or "").strip().splitlines() or [str(error)]
        print(f"{names}: not run, {', '.join(pins)} cannot be installed: {said[-1]}", flush=True)
        return False
    tests = [str(ROOT / "test" / folder) for folder in FOLDERS]
    command = [environment / "bin" / "python", "-m", "pytest", "-q", "-W", "ignore", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    lines = done.stdout.splitlines() or [done.stderr]
    failures = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    print("\n".join([*failures, f"{names}: Python {version}, {', '.join(pins)}: {lines[-1]}"]), flush=True)
    return done.returncode == 0


def _interpreter(version: str) -> str | None:
    """One that runs and is of that version."""
    by_pyenv = glob.glob(os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/python"))
    found = [shutil.which(f"python{version}"), *by_pyenv]
    told = "import sys; print('%d.%d' % sys.version_info[:2])"
    for python in filter(None, found):
        done = subprocess.run([python, "-c", told], capture_output=True, text=True)
        if done.stdout.strip() == version:
            return python
    return None


def _environment(python: str, version: str, pins: tuple[str, ...]) -> Path:
    """An environment with soft_twin and these packages, made anew where they have changed."""
    folder = ENVIRONMENTS / version
    stamp, wanted = (
        folder / "installed",
        "\n".join((*pins, *TOOLS, (ROOT / "pyproject.toml").read_text(encoding="utf-8"))),
    )
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != wanted:
        subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
        pip = [folder / "bin" / "pip", "install", "--quiet", "--prefer-binary"]
        command = [*pip, *pins, *TOOLS, "--editable", str(ROOT)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        stamp.write_text(wanted, encoding="utf-8")
    return folder


if __name__ == "__main__":
    sys.exit(main())
