"""Who may import whom: the library's folders along their arrows, and no middleware anywhere in it."""

import ast
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[1] / "src"
BLOCKED = (
    "rclpy",
    "rcl_interfaces",
    "builtin_interfaces",
    "std_msgs",
    "sensor_msgs",
    "geometry_msgs",
    "soft_twin_msgs",
)

IMPORT_ALL = """
import importlib, sys
for name in {blocked!r}:
    sys.modules[name] = None
for name in {modules!r}:
    importlib.import_module(name)
"""

# Each in a process of its own, which has what is not ours already.
IMPORT_EACH_FIRST = """
import importlib, os, sys
import matplotlib, numba, numpy, pydantic, scipy.sparse.linalg, scipy.spatial
for name in {modules!r}:
    if os.fork() == 0:
        try:
            importlib.import_module(name)
        except ImportError as error:
            print(f"{{name}}: {{error}}", flush=True)
        os._exit(0)
    os.wait()
"""


def library_modules() -> list[str]:
    paths = sorted((SOURCES / "soft_twin").rglob("*.py"))
    return [".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__") for path in paths]


# Who may import whom, for type checkers alone as well: a folder, and those below it.
# Everybody may import what stands in soft_twin/ itself.
ARROWS = {
    "linear_algebra": set(),
    "mesh": set(),
    "mechanics": {"linear_algebra", "mesh"},
    "solvers": {"mechanics", "linear_algebra", "mesh"},
    "twins": {"solvers", "mechanics", "linear_algebra", "mesh"},
    "shape_estimation": {"twins", "linear_algebra"},
    "inverse": {"twins", "mechanics", "linear_algebra"},
    "descriptions": set(),
    "sensing": {"descriptions", "linear_algebra"},
    "robots": {
        *("descriptions", "driving", "inverse", "shape_estimation", "twins", "solvers", "mechanics", "mesh"),
    },
    "driving": {"descriptions"},
    "emulation": {"robots", "driving", "sensing", "descriptions", "twins", "solvers", "mechanics", "mesh"},
    "recording": {"robots", "driving", "sensing", "inverse", "descriptions"},
    "viewing": {"recording"},
    "calibration": {"recording", "robots", "solvers", "mechanics", "mesh"},
    "learning": {"recording", "robots", "descriptions", "twins", "mesh", "linear_algebra"},
    "studies": {
        *("learning", "calibration", "recording", "emulation", "driving", "sensing", "robots", "inverse"),
        *("shape_estimation", "twins", "descriptions", "solvers", "mechanics", "mesh", "linear_algebra"),
    },
    "app": {
        "studies",
        "viewing",
        "learning",
        "calibration",
        "recording",
        "emulation",
        "sensing",
        "inverse",
        "robots",
        "mechanics",
        "descriptions",
        "mesh",
    },
}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported_folders(path: Path) -> set[str]:
    """Folders of soft_twin whose modules a file imports, anywhere."""
    modules = {node.module for node in ast.walk(parsed(path)) if isinstance(node, ast.ImportFrom)}
    return {name.split(".")[1] for name in modules if name and name.startswith("soft_twin.")}


def test_imports_go_along_the_arrows():
    wrong = []
    for folder, below in ARROWS.items():
        for path in sorted((SOURCES / "soft_twin" / folder).rglob("*.py")):
            others = imported_folders(path) & set(ARROWS) - {folder}
            wrong += [f"{path.relative_to(SOURCES)} imports {name}" for name in sorted(others - below)]
    assert wrong == []


def test_every_folder_is_in_the_table_and_no_arrow_goes_round():
    folders = {path.name for path in (SOURCES / "soft_twin").iterdir() if (path / "__init__.py").is_file()}
    assert folders == set(ARROWS)
    below: set[str] = set()
    while below != folders:
        free = {name for name in folders - below if ARROWS[name] <= below}
        assert free, f"a circle among {sorted(folders - below)}"
        below |= free


def test_the_library_imports_without_ros():
    modules = library_modules()
    assert "soft_twin.app.run" in modules
    program = IMPORT_ALL.format(blocked=BLOCKED, modules=modules)
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def modules_of_ours() -> dict[str, Path]:
    """By name, with packages under the name of their folder."""
    paths = [path for folder in ("soft_twin", "soft_twin_ros") for path in sorted((SOURCES / folder).rglob("*.py"))]
    return {".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


def names_imported(node: ast.AST) -> Iterator[str]:
    """What a module's text imports, in functions too, but for what is for type checkers alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.ImportFrom):
            yield from (f"{child.module}.{alias.name}" for alias in child.names)
        elif isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        yield from names_imported(child)


def modules_needed(name: str, modules: dict[str, Path]) -> set[str]:
    """Modules of ours that one needs before it is whole: what it imports, and the packages that are run on the way.

    The packages that it is in itself have begun before it, and what they gather is below them: it does not need them,
    unless it imports a name from one of them.
    """
    needed = set()
    for full in names_imported(parsed(modules[name])):
        module = full if full in modules else full.rpartition(".")[0]
        packages = {module[:i] for i, letter in enumerate(module) if letter == "."}
        needed |= {module} | {package for package in packages if not name.startswith(f"{package}.")}
    return needed & set(modules) - {name}


def circles(needed: dict[str, set[str]]) -> list[list[str]]:
    """Modules that need each other, however long the way round."""

    def reached(name: str) -> set[str]:
        found, ahead = set(), set(needed[name])
        while ahead:
            found |= ahead
            ahead = set().union(*(needed[each] for each in ahead)) - found
        return found

    beyond = {name: reached(name) for name in needed}
    rounds = {frozenset(each for each in beyond[name] if name in beyond[each]) for name in needed}
    return sorted(sorted(each) for each in rounds if each)


def test_no_modules_import_each_other_round_in_a_circle():
    modules = modules_of_ours()
    assert circles({name: modules_needed(name, modules) for name in modules}) == []


def test_a_circle_through_packages_and_functions_is_seen(tmp_path):
    """`a` gathers from `b.near`, which needs a package that needs `a.far`, in a function."""
    texts = {
        "a/__init__.py": "from b.near import one",
        "a/far.py": "two = 2",
        "b/__init__.py": "",
        "b/near.py": "from c import three\none = 1",
        "c.py": "def three():\n    from a.far import two\n    return two",
        "d.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import e",
        "e.py": "import d",
    }
    modules = {}
    for name, text in texts.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        modules[name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")] = path
    assert circles({name: modules_needed(name, modules) for name in modules}) == [["a", "b.near", "c"]]


def test_any_module_of_packages_that_gather_can_be_imported_first():
    """These are run before; of the mechanics, whose packages import from each other."""
    modules = modules_of_ours()
    gathering = [name for name, path in modules.items() if path.name == "__init__.py" and _gathers(name, path)]
    within = [name for name in modules if name.startswith(tuple(f"{package}." for package in gathering))]
    assert {"soft_twin.mechanics.contact.contact", "soft_twin.mechanics.constraints.rows"} <= set(within)
    program = IMPORT_EACH_FIRST.format(modules=within)
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (result.stdout, result.returncode) == ("", 0), result.stderr


def _gathers(name: str, path: Path) -> bool:
    """Whether a package of the mechanics imports what is in it."""
    names = names_imported(parsed(path))
    return name.startswith("soft_twin.mechanics.") and any(each.startswith(f"{name}.") for each in names)


def test_the_library_knows_the_nodes_only_in_commands_that_start_them():
    importers = {
        str(path.relative_to(SOURCES / "soft_twin"))
        for path in (SOURCES / "soft_twin").rglob("*.py")
        if re.search(r"^\s*(from|import) soft_twin_ros", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert {name for name in importers if not name.startswith("app/")} == set()
    for name in importers:
        tree = parsed(SOURCES / "soft_twin" / name)
        at_once = [node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)]
        assert [module for module in at_once if module.startswith("soft_twin_ros")] == [], name


def test_running_imports_ros_in_its_runner_alone():
    importers = {
        path.name
        for path in (SOURCES / "soft_twin_ros" / "running").glob("*.py")
        if re.search(r"^(from|import) (rclpy|\w+_msgs|\w+_srvs)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert importers == {"runner.py"}


def test_only_nodes_commands_and_tests_import_the_emulation():
    importers = {
        str(path.relative_to(SOURCES))
        for path in SOURCES.rglob("*.py")
        if "soft_twin.emulation" in path.read_text(encoding="utf-8") and "emulation" not in path.parts
    }
    allowed = ("soft_twin/app/", "soft_twin_ros/emulated_", "soft_twin/studies/")
    assert {name for name in importers if not name.startswith(allowed)} == set()


def test_descriptions_build_nothing():
    allowed = ("soft_twin.descriptions", "soft_twin.errors", "soft_twin.files", "soft_twin.resources")
    for path in (SOURCES / "soft_twin" / "descriptions").glob("*.py"):
        imported = re.findall(r"^(?:from|import) (soft_twin[\w.]*)", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert [name for name in imported if not name.startswith(allowed)] == [], path.name


def numbers_in(path: Path) -> set[str]:
    """Literal numbers of a module's code."""
    with path.open("rb") as file:
        return {token.string for token in tokenize.tokenize(file.readline) if token.type == tokenize.NUMBER}


def test_standard_gravity_stands_in_one_place():
    """Campaigns' devices are written from data sheets and share nothing with what they test; files that are made to be
    broken have numbers of their own, too."""
    within = [path for path in SOURCES.rglob("*.py") if not {"campaigns", "fuzzing"} & set(path.parts)]
    within = [path for path in within if "9.8" in path.read_text(encoding="utf-8")]
    assert [path.name for path in within if {"9.81", "9.80665", "9.8"} & numbers_in(path)] == ["constants.py"]
