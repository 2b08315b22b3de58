"""Whether a body's materials are of its volumes: each cell of one."""

from collections.abc import Sequence

import numpy as np

from soft_twin.errors import MaterialError
from soft_twin.mesh.mesh import Mesh

MOST_NAMES = 6  # in a message


def refuse_second(mesh: Mesh, volumes: Sequence[str | None]) -> None:
    """See that no cell of the last of materials' volumes is of one before it, which would weigh and pull besides.

    Args:
        mesh: of the body.
        volumes: of the materials; None: all of it.

    Raises:
        MaterialError: one is; with the volumes that no material is of, of which one may have been meant.
        MeshError: no such volume.
    """
    *before, last = (_are_of(mesh, volume) for volume in volumes)
    taken = next((i for i, cells in enumerate(before) if (cells & last).any()), None)
    if taken is None:
        return
    what = "the whole body" if volumes[-1] is None else f"'{volumes[-1]}'"
    meant = _named(mesh, ~np.any([*before, last], axis=0))
    hint = f", while {meant} has none: was that meant?" if meant else ": a cell is of one material"
    shared = int((before[taken] & last).sum())
    raise MaterialError(f"{shared} of {int(last.sum())} cells of {what} are of materials[{taken}] already{hint}")


def refuse_bare(mesh: Mesh, volumes: Sequence[str | None]) -> None:
    """See that every cell is of a material.

    Args:
        mesh: of the body.
        volumes: of the materials; None: all of it.

    Raises:
        MaterialError: some are of none; with the volumes that they make up.
        MeshError: no such volume.
    """
    bare = ~np.any([_are_of(mesh, volume) for volume in volumes], axis=0)
    if not bare.any():
        return
    names = _named(mesh, bare)
    remedy = f"give {names} a material" if names else "no volume has these alone: give one without 'volume', of all"
    raise MaterialError(f"{int(bare.sum())} of {len(bare)} cells are of no material: {remedy}")


def _are_of(mesh: Mesh, volume: str | None) -> np.ndarray:
    """(m,) whether cells are of a volume."""
    if volume is None:
        return np.ones(len(mesh.cells), dtype=bool)
    return np.isin(np.arange(len(mesh.cells)), mesh.volume(volume))


def _named(mesh: Mesh, bare: np.ndarray) -> str:
    """The volumes all of whose cells are bare (m,), in words; "" where there are none."""
    names = [f"'{name}'" for name, cells in mesh.volumes.items() if len(cells) and bare[cells].all()]
    more = f", … ({len(names)} in all)" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more
