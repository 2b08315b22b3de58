"""Whether a body's materials are of all of its volumes. One may be of several, which carry beside each other."""

from collections.abc import Sequence

import numpy as np

from soft_twin.errors import MaterialError
from soft_twin.mesh.mesh import Mesh

MOST_NAMES = 6  # in a message


def refuse_bare(mesh: Mesh, volumes: Sequence[str | None]) -> None:
    """See that every cell is of a material.

    Args:
        mesh: of the body.
        volumes: of the materials; None: all of it.

    Raises:
        MaterialError: some are of none; with the volumes that they make up, and with one that has two materials, of
            which one may be meant.
        MeshError: no such volume.
    """
    bare = ~np.any([_are_of(mesh, volume) for volume in volumes], axis=0)
    if not bare.any():
        return
    names = _named(mesh, bare)
    remedy = f"give {names} a material" if names else "no volume has these alone: give one without 'volume', of all"
    twice = next((i for i, volume in enumerate(volumes) if volume in volumes[:i]), None)
    if twice is not None:
        remedy += f"; '{volumes[twice]}' has two, materials[{volumes.index(volumes[twice])}] and [{twice}]"
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
