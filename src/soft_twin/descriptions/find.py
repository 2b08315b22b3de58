"""Where a robot's description is."""

from pathlib import Path

from soft_twin.descriptions.nearest import nearest
from soft_twin.descriptions.shortened import shortened
from soft_twin.errors import UsageError
from soft_twin.files import checked_file, checked_path
from soft_twin.resources import folder


def find_description(name_or_path: str | Path) -> Path:
    """The file of a robot: a path to a YAML file, or the name of one in config/.

    Raises:
        UsageError: there is no such robot or file; the message says which is called alike, or lists them.
    """
    path = checked_path(name_or_path, "robot description", UsageError)
    if path.suffix in (".yaml", ".yml"):
        return checked_file(path, "robot description", 2**62, UsageError)
    known = {file.stem: file for file in sorted(folder("config").glob("*.yaml"))}
    if str(name_or_path) not in known:
        right = nearest(str(name_or_path), known)
        path = "" if right.endswith("?") else ", or give the path of a .yaml file"
        raise UsageError(f"no robot {shortened(str(name_or_path))}: {right}{path}")
    return known[str(name_or_path)]
