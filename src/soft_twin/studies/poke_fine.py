"""The poke on a mesh as fine as the paper's: 12 × 12 × 8 cells, clamped 4 056 and on the floor 4 563 coordinates.

The paper's have 3 813 to 5 184. Without friction at the cylinder, whose faces are watched; all else as of poke.py.
Picture: poke_fine.png.
"""

from pathlib import Path

from soft_twin.parallel import compute_here
from soft_twin.studies.poke import draw, poked, table

CELLS = (12, 8)


def run(folder: Path, data: Path) -> str:
    """The cube on a floor and clamped; `data` is not used."""
    pokes = compute_here(poked, [("floor", CELLS, 0.0), ("clamped", CELLS, 0.0)], "pokes")
    draw(folder / "poke_fine.png", pokes)
    return table(pokes)
