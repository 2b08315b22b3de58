"""`soft-twin bench NAME`: run bench/NAME.py, print its table and, last, one JSON object."""

import argparse
import importlib.util
import json
from types import ModuleType

from soft_twin.errors import UsageError
from soft_twin.measuring import Figure
from soft_twin.resources import folder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="what to measure: " + ", ".join(names()))


def run(arguments: argparse.Namespace) -> int:
    figures = _load(arguments.name).measure()
    print(table(figures))
    print(json.dumps({figure.key: figure.value for figure in figures}))
    return 0


def names() -> list[str]:
    """The benchmarks there are: the modules of bench/."""
    return sorted(path.stem for path in folder("bench").glob("*.py"))


def table(figures: list[Figure]) -> str:
    """The figures as lines of aligned columns: what, value and unit, what it should reach."""
    rows = [(f.what, f"{f.value:.4g} {f.unit}".strip(), f.reach) for f in figures]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    return "\n".join(f"{what:<{widths[0]}}  {value:>{widths[1]}}  {reach}".rstrip() for what, value, reach in rows)


def _load(name: str) -> ModuleType:
    if name not in names():
        raise UsageError(f"no benchmark '{name}': there are {', '.join(names())}")
    spec = importlib.util.spec_from_file_location(f"bench_{name}", folder("bench") / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
