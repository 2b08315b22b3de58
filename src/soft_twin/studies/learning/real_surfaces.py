"""Twins of real robots and of real sheets, each corrected by some recordings and tested on one that was left out.

Parts are in `real/`, one module for each robot; those whose recordings are not there are named and left out. Each part
is stored as it ends. The real trunk is in `learning/real_tips`: its arcs are learned, and there is nothing below them
to correct. Picture: real_surfaces.png; table.json.
"""

import json
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from soft_twin.errors import UsageError
from soft_twin.parallel import compute_all, terminal_progress
from soft_twin.studies import neck_logs, sopra_segment
from soft_twin.studies.learning.real import neck, segment, sheets, silicone, tensegrity
from soft_twin.studies.learning.real.tested import Tested
from soft_twin.studies.results import write_picture, write_text
from soft_twin.studies.tensegrity_arm import FILE

matplotlib.use("Agg")

PARTS: dict[str, tuple[Path, Callable[..., list[Tested]]]] = {
    "sheets": (sheets.FOLDER, sheets.tested),
    "silicone": (Path("silicone_lidar"), silicone.tested),
    "segment": (sopra_segment.FOLDER, segment.tested),
    "neck": (neck_logs.FOLDER, neck.tested),
    "tensegrity arm": (FILE.parent, tensegrity.tested),
}  # where their recordings are, and what reads them


def run(folder: Path, data: Path) -> str:
    """Learn and test; the table.

    Raises:
        UsageError: there are no recordings at all.
    """
    there = [name for name, (own, _) in PARTS.items() if (data / own).is_dir()]
    if not there:
        raise UsageError(f"no recordings in {data}: --data or $SOFT_TWIN_DATA says where they are")
    cases = [(name, recordings(data / PARTS[name][0])) for name in there]
    found = compute_all(partial(tested_part, str(data)), cases, store=folder / "parts")
    terminal_progress("")
    rows = [Tested(**row) for part in found for row in json.loads(str(part["rows"]))]
    write_text(folder / "table.json", json.dumps([asdict(row) for row in rows], indent=1))
    draw(folder / "real_surfaces.png", rows)
    left_out = [f"left out: {name}, no recordings in {data / PARTS[name][0]}" for name in PARTS if name not in there]
    return "\n".join([table(rows), *left_out])


def recordings(folder: Path) -> list[str]:
    """All files in a folder: what is in them is what stored rows belong to."""
    return sorted(str(file) for file in folder.rglob("*") if file.is_file())


def tested_part(data: str, case: tuple[str, list[str]]) -> dict[str, str]:
    """The rows of a part, which is a name and its recordings, as JSON."""
    name, _ = case
    return {"rows": json.dumps([asdict(row) for row in PARTS[name][1](Path(data), terminal_progress)])}


def table(rows: list[Tested]) -> str:
    """Errors before and after where nothing was learned."""
    lines = [
        f"{'':30} {'learned from':22} {'tested on':20} {'twin':>8} {'corrected':>10} {'':4} {'largest':>8} {'':>8}",
        *(
            f"{row.what:30} {row.learned_from:22} {row.tested_on:20} {row.before:8.2f} {row.after:10.2f} {row.unit:4} "
            f"{row.largest_before:8.1f} {row.largest_after:8.1f}"
            for row in rows
        ),
    ]
    return "\n".join(lines)


def draw(path: Path, rows: list[Tested]) -> None:
    """What is left of each row's error, in parts of the twin's."""
    figure = Figure(figsize=(8.0, 1.2 + 0.25 * len(rows)), layout="constrained")
    plot, places = figure.subplots(), np.arange(len(rows))[::-1]
    plot.barh(places, [row.after / row.before for row in rows], color="#0072b2")
    plot.axvline(1.0, color="#d55e00", lw=1.5)
    plot.set_yticks(places, [f"{row.what}: {row.tested_on}" for row in rows], fontsize=7)
    plot.set(xlabel="mean error after correction, where the twin's is 1; left out of the training")
    write_picture(path, figure, dpi=110)
