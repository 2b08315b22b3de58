"""The library knows no middleware: every module of soft_twin imports with rclpy and all message packages blocked."""

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


def library_modules() -> list[str]:
    paths = sorted((SOURCES / "soft_twin").rglob("*.py"))
    return [".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__") for path in paths]


def test_the_library_imports_without_ros():
    modules = library_modules()
    assert "soft_twin.commands.run" in modules
    program = IMPORT_ALL.format(blocked=BLOCKED, modules=modules)
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_only_nodes_commands_and_tests_import_the_emulation():
    importers = {
        str(path.relative_to(SOURCES))
        for path in SOURCES.rglob("*.py")
        if "soft_twin.emulation" in path.read_text(encoding="utf-8") and "emulation" not in path.parts
    }
    allowed = ("soft_twin/commands/", "soft_twin_ros/emulated_", "soft_twin/experiments/")
    assert {name for name in importers if not name.startswith(allowed)} == set()


def test_descriptions_build_nothing():
    allowed = ("soft_twin.descriptions", "soft_twin.errors", "soft_twin.files", "soft_twin.resources")
    for path in (SOURCES / "soft_twin" / "descriptions").glob("*.py"):
        imported = re.findall(r"^(?:from|import) (soft_twin[\w.]*)", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert [name for name in imported if not name.startswith(allowed)] == [], path.name
