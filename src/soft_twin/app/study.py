"""What `experiment` and `validate` share: a module by its name, a folder for its pictures, a folder with recordings."""

import argparse
import importlib
import os
from collections.abc import Mapping
from pathlib import Path

from soft_twin.errors import UsageError
from soft_twin.parallel import Workers, add_worker_arguments, working_with
from soft_twin.studies import MODULES

DEFAULT_DATA = Path("../shared/data")


def add_study_arguments(parser: argparse.ArgumentParser, studies: Mapping[str, str], command: str) -> None:
    """Arguments of a command that runs one of some studies (name → what it is)."""
    text = "; ".join(f"{name}: {text}" for name, text in studies.items())
    parser.add_argument("name", help=f"{text}; the first word of several: all of them")
    parser.add_argument("--out", type=Path, metavar="DIR", help=f"where pictures go; default out/{command}/NAME")
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="recordings; default $SOFT_TWIN_DATA or ../shared/data"
    )
    add_worker_arguments(parser)


def run_study(arguments: argparse.Namespace, studies: Mapping[str, str], command: str, package: str) -> int:
    """Run the study's module in `package`, whose `run(folder, data)` returns a table, or, one after the other, all
    whose names begin with it and a slash; the exit status.

    Raises:
        UsageError: there is no such study, and the message lists those there are; or the folder cannot be written.
    """
    names = (
        [arguments.name] if arguments.name in studies else [n for n in studies if n.startswith(f"{arguments.name}/")]
    )
    if not names:
        raise UsageError(f"nothing to {command} is called '{arguments.name}': there are {', '.join(studies)}")
    out = arguments.out or Path("out") / command / arguments.name
    data = arguments.data or Path(os.environ.get("SOFT_TWIN_DATA", DEFAULT_DATA))
    for name in names:
        folder = out if len(names) == 1 else out / name.partition("/")[2]
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot write into '{folder}': {error.strerror}; say --out DIR") from error
        if len(names) > 1:
            print(f"== {name}: {studies[name]}", flush=True)
        module = MODULES.get((command, name), name)
        with working_with(Workers.of(arguments)):
            print(importlib.import_module(f"{package}.{module}").run(folder, data))
        print(f"\npictures: {', '.join(sorted(str(path) for path in folder.glob('*.png')))}", flush=True)
    return 0
