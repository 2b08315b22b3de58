"""What `experiment` and `validate` share: a module by its name, a folder for its pictures, a folder with recordings."""

import argparse
import importlib
import inspect
import os
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from soft_twin.app.folders import writable
from soft_twin.descriptions.nearest import nearest
from soft_twin.errors import UsageError
from soft_twin.parallel import Workers, add_worker_arguments, check_alone, compute_here, kept_to_the_end, working_with
from soft_twin.robots import load_robot
from soft_twin.studies import MODULES
from soft_twin.studies.results import unwritten_noted

DEFAULT_DATA = Path("../shared/data")
OPTIONS = {
    "robot": (str, "NAME", "another robot than the study's: a name in config/, or the path of a description"),
    "simulations": (int, "N", "of a learned robot; default: what its description says"),
    "seed": (int, "N", "the first of the trainings' seeds; default 0, of realities 1"),
    "seeds": (int, "N", "how many trainings there are; default 5, of realities 4"),
}  # that some studies have, as arguments of their `run`: type, what stands for a value, what it is
LEAST = {"simulations": 2, "seed": 0, "seeds": 1}


def add_study_arguments(parser: argparse.ArgumentParser, studies: Mapping[str, str], command: str) -> None:
    """Arguments of a command that runs one of some studies (name → what it is)."""
    text = "; ".join(f"{name}: {text}" for name, text in studies.items())
    parser.add_argument("name", help=f"{text}; the first word of several: all of them")
    parser.add_argument("--out", type=Path, metavar="DIR", help=f"where pictures go; default out/{command}/NAME")
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="recordings; default $SOFT_TWIN_DATA or ../shared/data"
    )
    add_worker_arguments(parser)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The arguments that some studies have."""
    for name, (kind, value, text) in OPTIONS.items():
        parser.add_argument(f"--{name}", type=kind, metavar=value, help=f"of studies of learning: {text}")


def run_study(arguments: argparse.Namespace, studies: Mapping[str, str], command: str, package: str) -> int:
    """Run the study's module in `package`, whose `run(folder, data)` returns a table, or, one after the other, all
    whose names begin with it and a slash; the exit status.

    Raises:
        UsageError: there is no such study, and the message says which is called alike, or lists them; it has no such
            option, or no work for so many processes; the folder cannot be written; or, when the table is printed, some
            of its pictures and files could not be.
    """
    names = (
        [arguments.name] if arguments.name in studies else [n for n in studies if n.startswith(f"{arguments.name}/")]
    )
    if not names:
        raise UsageError(f"nothing to {command} is called '{arguments.name}': {nearest(arguments.name, studies)}")
    modules = {name: f"{package}.{MODULES.get((command, name), name)}" for name in names}
    options = _options(arguments, modules)
    out = arguments.out or _default_folder(Path("out") / command / arguments.name, modules, options)
    data = arguments.data or Path(os.environ.get("SOFT_TWIN_DATA", DEFAULT_DATA))
    if not any(map(_works_in_parallel, modules.values())):
        check_alone(arguments, f"to '{arguments.name}'")
    workers = Workers.of(arguments)
    for name in names:
        folder = out if len(names) == 1 else out / name.partition("/")[2]
        writable(folder)
        if len(names) > 1:
            print(f"== {name}: {studies[name]}", flush=True)
        with working_with(workers), kept_to_the_end(), unwritten_noted() as unwritten:
            print(importlib.import_module(modules[name]).run(folder, data, **options), flush=True)
        if unwritten:
            path, reason = next(iter(unwritten.items()))
            others = f", nor {len(unwritten) - 1} more" if len(unwritten) > 1 else ""
            raise UsageError(f"cannot write '{path}'{others}: {reason}; the table above is whole")
        print(f"\npictures: {', '.join(sorted(str(path) for path in folder.glob('*.png')))}", flush=True)
    return 0


def _options(arguments: argparse.Namespace, modules: Mapping[str, str]) -> dict[str, Any]:
    """Those that were given, and that all studies have, by their modules.

    Raises:
        UsageError: one of them has no such option, or its value cannot be.
    """
    options = {name: value for name in OPTIONS if (value := getattr(arguments, name, None)) is not None}
    for option, value in options.items():
        if option in LEAST and value < LEAST[option]:
            raise UsageError(f"--{option} {value}: expected {LEAST[option]} or more")
        for name, module in modules.items():
            if option not in inspect.signature(importlib.import_module(module).run).parameters:
                raise UsageError(f"--{option} {value}: of no use to '{name}', leave it out")
    return options


def _works_in_parallel(name: str) -> bool:
    """Whether a study's module, or another of a study that it uses, has work for several processes."""
    found, waiting = set(), [name]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        values = list(vars(importlib.import_module(name)).values())
        if any(value is Workers or value is compute_here for value in values):
            return True
        used = {value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", None) for value in values}
        waiting += [each for each in used if isinstance(each, str) and each.startswith("soft_twin.studies")]
    return False


def _default_folder(folder: Path, modules: Mapping[str, str], options: Mapping[str, Any]) -> Path:
    """Where pictures go; those of another robot go beside those of the study's own.

    Raises:
        others: of `load_robot`.
    """
    if "robot" not in options:
        return folder
    robot = load_robot(options["robot"]).name
    own = {_robot_of(importlib.import_module(module)) for module in modules.values()}
    return folder.with_name(robot if folder.name in own else f"{folder.name}_{robot}")


def _robot_of(module: ModuleType) -> str:
    return inspect.signature(module.run).parameters["robot"].default
