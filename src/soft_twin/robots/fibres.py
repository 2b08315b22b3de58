"""Which way fibres run, from their description."""

from typing import TYPE_CHECKING

import numpy as np

from soft_twin.mesh.mesh import Mesh

if TYPE_CHECKING:
    from soft_twin.descriptions import fem_robot as descriptions


def fibre_directions(mesh: Mesh, fibres: "descriptions.Fibrous") -> list[np.ndarray]:
    """Of each family of fibres, its unit direction in each cell of the mesh (m, 3).

    Wound ones with a pitch α run along cos α t ± sin α n, with the axis n and t across it and the way to it.
    """
    if fibres.around is None:
        straight = np.array(fibres.direction) / np.linalg.norm(fibres.direction)
        return [np.tile(straight, (len(mesh.cells), 1))]
    axis = np.array(fibres.around.direction) / np.linalg.norm(fibres.around.direction)
    arms = mesh.nodes[mesh.cells].mean(axis=1) - fibres.around.point
    across = np.cross(axis, arms)
    lengths = np.linalg.norm(across, axis=1)
    on_axis = lengths < 1e-9 * float(np.linalg.norm(mesh.size))
    around = np.where(on_axis[:, None], axis, across / np.where(on_axis, 1.0, lengths)[:, None])
    pitch = np.radians(fibres.pitch_deg)
    signs = (1.0, -1.0) if pitch > 0.0 else (1.0,)
    return [np.cos(pitch) * around + sign * np.sin(pitch) * axis for sign in signs]
