"""Full text of a ROS message type's definition, as recordings carry it, read from installed packages without ROS."""

import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from soft_twin.errors import RecordingError

SEPARATOR = "=" * 80
BUILT_IN = re.compile(r"bool|byte|char|float(32|64)|u?int(8|16|32|64)|w?string")
_FIELD = re.compile(r"^\s*([A-Za-z][\w/]*)(?:<=\d+)?(?:\[[^\]]*\])?\s+[A-Za-z]\w*")


def installed_share_folders() -> list[Path]:
    """The share folders that packages are installed into: AMENT_PREFIX_PATH's, then this Python environment's."""
    prefixes = [prefix for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
    folders = [Path(prefix) / "share" for prefix in dict.fromkeys([*prefixes, sys.prefix])]
    return [folder for folder in folders if folder.is_dir()]


def definition(type_name: str, share_folders: Iterable[str | Path]) -> str:
    """The definition of a message type followed by those of all types in it, each once, breadth first.

    This is the schema encoding "ros2msg" of MCAP: parts are separated by a line of 80 "=" and, but for the
    first, begin with "MSG: package/Type".

    Args:
        type_name: such as "sensor_msgs/msg/Imu" or "sensor_msgs/Imu".
        share_folders: folders with a subfolder <package>/msg per package; the first that has the type wins.

    Raises:
        RecordingError: the type or one in it is not installed.
    """
    folders = [Path(folder) for folder in share_folders]
    parts = {_short(type_name): _text(_short(type_name), folders)}
    waiting = [_short(type_name)]
    while waiting:
        name = waiting.pop(0)
        for inner in _types_in(parts[name], package=name.partition("/")[0]):
            if inner not in parts:
                parts[inner] = _text(inner, folders)
                waiting.append(inner)
    first, *others = parts.items()
    return "".join([first[1], *(f"{SEPARATOR}\nMSG: {name}\n{text}" for name, text in others)])


def _short(type_name: str) -> str:
    words = type_name.split("/")
    if len(words) not in (2, 3) or not all(re.fullmatch(r"\w+", word) for word in words):
        raise RecordingError(f"'{type_name}' is not a message type: expected package/msg/Type")
    return f"{words[0]}/{words[-1]}"


def _text(name: str, folders: list[Path]) -> str:
    package, _, message = name.partition("/")
    for folder in folders:
        path = folder / package / "msg" / f"{message}.msg"
        if os.path.isfile(path):
            text = path.read_text(encoding="utf-8")
            return text if text.endswith("\n") else text + "\n"
    places = ", ".join(map(str, folders)) or "no folder"
    raise RecordingError(f"message type '{name}' is not installed: no {package}/msg/{message}.msg in {places}")


def _types_in(text: str, package: str) -> list[str]:
    """Names package/Type of the message types that a definition's fields have, in order."""
    names = []
    for line in text.splitlines():
        found = _FIELD.match(line.partition("#")[0])
        if found and not BUILT_IN.fullmatch(found[1]):
            names.append(_short(found[1]) if "/" in found[1] else f"{package}/{found[1]}")
    return names
