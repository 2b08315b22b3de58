"""`soft-twin bench NAME`: run bench/NAME.py, print its table and, last, one JSON object.

A benchmark is a module with `measure(...)`, which returns figures. One that takes options has `add_arguments(parser)`
too, and gets them as keywords.
"""

import argparse
import importlib.util
import json
import math
from types import ModuleType

from soft_twin.app.measuring import Figure
from soft_twin.errors import UsageError
from soft_twin.resources import folder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="what to measure: " + ", ".join(names()))
    parser.add_argument("options", nargs=argparse.REMAINDER, help="the benchmark's own, if it has any: NAME --help")


def run(arguments: argparse.Namespace) -> int:
    module = _load(arguments.name)
    figures = module.measure(**vars(_options(module, arguments)))
    print(table(figures))
    print(json.dumps({figure.key: figure.value if math.isfinite(figure.value) else None for figure in figures}))
    return 0


def names() -> list[str]:
    """The benchmarks there are: the modules of bench/."""
    return sorted(path.stem for path in folder("bench").glob("*.py"))


def table(figures: list[Figure]) -> str:
    """The figures as lines of aligned columns: what, value and unit, what it should reach."""
    rows = [(f.what, f"{f.value:.4g} {f.unit}".strip(), f.reach) for f in figures]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    return "\n".join(f"{what:<{widths[0]}}  {value:>{widths[1]}}  {reach}".rstrip() for what, value, reach in rows)


def _options(module: ModuleType, arguments: argparse.Namespace) -> argparse.Namespace:
    """What a benchmark's own parser makes of the words after its name."""
    parser = argparse.ArgumentParser(prog=f"soft-twin bench {arguments.name}", description=module.__doc__)
    if hasattr(module, "add_arguments"):
        module.add_arguments(parser)
    options = parser.parse_args(arguments.options)
    for name, value in vars(options).items():
        _check(name.replace("_", "-"), value)
    return options


def _check(name: str, value: object) -> None:
    """Whole numbers are counts and seeds, others are measures; one alone is how long something takes.

    Raises:
        UsageError: a whole number or a time below 0, or a number that is not finite.
    """
    for number in value if isinstance(value, list) else [value]:
        if isinstance(number, float) and not math.isfinite(number):
            raise UsageError(f"--{name} {number}: expected a finite number")
        if isinstance(number, int | float) and number < 0 and (isinstance(number, int) or number is value):
            raise UsageError(f"--{name} {number}: expected 0 or more")


def _load(name: str) -> ModuleType:
    if name not in names():
        raise UsageError(f"no benchmark '{name}': there are {', '.join(names())}")
    spec = importlib.util.spec_from_file_location(f"bench_{name}", folder("bench") / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
