"""Who may import whom: the library's folders along their arrows, and no middleware anywhere in it."""

import ast
import re
import subprocess
import sys
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
    "inverse": {"twins", "mechanics", "linear_algebra"},
    "descriptions": set(),
    "sensing": {"descriptions", "linear_algebra"},
    "robots": {"descriptions", "driving", "inverse", "twins", "solvers", "mechanics", "mesh"},
    "driving": {"descriptions"},
    "emulation": {"robots", "driving", "sensing", "descriptions", "twins", "solvers", "mechanics", "mesh"},
    "recording": {"robots", "driving", "sensing", "inverse", "descriptions"},
    "calibration": {"recording", "robots", "solvers", "mechanics", "mesh"},
    "learning": {"recording", "robots", "descriptions", "twins", "mesh", "linear_algebra"},
    "studies": {
        *("learning", "calibration", "recording", "emulation", "driving", "sensing", "robots", "inverse", "twins"),
        *("descriptions", "solvers", "mechanics", "mesh", "linear_algebra"),
    },
    "app": {
        "studies",
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


def imported_folders(path: Path) -> set[str]:
    """Folders of soft_twin whose modules a file imports, anywhere."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
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


def imported_at_once(name: str, modules: set[str]) -> set[str]:
    """Modules of ours that importing one runs first, their packages included, but not what functions import."""
    path = SOURCES / name.replace(".", "/")
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            found |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    above = {each[:i] for each in found | {name} for i, letter in enumerate(each) if letter == "."}
    return (found | above) & modules - {name}


def modules_in_circles() -> list[str]:
    """Modules that are imported, in the end, by what they import themselves."""
    modules = set(library_modules())
    direct = {name: imported_at_once(name, modules) for name in modules}
    circles = []
    for name in modules:
        reached, ahead = set(), set(direct[name])
        while ahead:
            reached |= ahead
            ahead = set().union(*(direct[each] for each in ahead)) - reached
        if name in reached:
            circles.append(name)
    return sorted(circles)


def test_any_module_can_be_imported_first():
    """Only those in a circle may not be; a package that gathers what is in it makes one."""
    modules = modules_in_circles()
    assert "soft_twin.mechanics.contact.contact" in modules
    program = IMPORT_EACH_FIRST.format(modules=modules)
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (result.stdout, result.returncode) == ("", 0), result.stderr


def test_the_library_knows_the_nodes_only_in_commands_that_start_them():
    importers = {
        str(path.relative_to(SOURCES / "soft_twin"))
        for path in (SOURCES / "soft_twin").rglob("*.py")
        if re.search(r"^\s*(from|import) soft_twin_ros", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert {name for name in importers if not name.startswith("app/")} == set()
    for name in importers:
        tree = ast.parse((SOURCES / "soft_twin" / name).read_text(encoding="utf-8"))
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
