"""`soft-twin validate NAME`: check the twin against what is known; prints a table, writes pictures."""

import argparse
import importlib
import os
from pathlib import Path

from soft_twin.errors import UsageError
from soft_twin.validation import VALIDATIONS

DEFAULT_DATA = Path("../shared/data")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="; ".join(f"{name}: {text}" for name, text in VALIDATIONS.items()))
    parser.add_argument("--out", type=Path, metavar="DIR", help="where pictures go; default out/validate/NAME")
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="recordings; default $SOFT_TWIN_DATA or ../shared/data"
    )


def run(arguments: argparse.Namespace) -> int:
    if arguments.name not in VALIDATIONS:
        raise UsageError(f"no validation '{arguments.name}': there are {', '.join(VALIDATIONS)}")
    folder = arguments.out or Path("out") / "validate" / arguments.name
    folder.mkdir(parents=True, exist_ok=True)
    data = arguments.data or Path(os.environ.get("SOFT_TWIN_DATA", DEFAULT_DATA))
    print(importlib.import_module(f"soft_twin.validation.{arguments.name}").run(folder, data))
    print(f"\npictures: {', '.join(sorted(str(path) for path in folder.glob('*.png')))}")
    return 0
