"""How fine the finger's mesh for control has to be: coarser and finer ones under the same efforts, on its floor.

Poses are equilibria under gravity from five sides with six sets of efforts each. The finest takes a minute or two.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
import yaml

from soft_twin import load_robot
from soft_twin.app.measuring import Figure
from soft_twin.twins.contact import ContactTwin

GRAVITIES = ((0.0, 0.0, -9.81), (0.0, 0.0, 9.81), (6.94, 0.0, -6.94), (-9.81, 0.0, 0.0), (3.0, 4.0, -8.4))  # [m/s²]
EFFORTS = (  # of the cables [N], of the chamber [Pa]
    (0.0, 0.0, 0.0),
    (1.0, 1.0, 0.0),
    (0.0, 0.0, 15e3),
    (1.0, 0.3, 8e3),
    (2.0, 2.0, 10e3),
    (0.2, 0.2, 25e3),
)
WALL, LENGTH = 0.005, 0.080  # [m] cells over the length of the hollow, and at its ends
ALONG = (6, 7, 9, 12, 16)
FINEST = 16, 2  # cells along, and how many there are across for one of the others'


def measure() -> list[Figure]:
    """How far the tip is from that of the finest mesh, and the force on the floor from its force."""
    meshes = [(along, 1) for along in ALONG]
    finest = _answers(*FINEST)
    figures = []
    for along, across in meshes:
        tips, forces, unknowns, seconds = _answers(along, across)
        off = 1e3 * np.linalg.norm(tips - finest[0], axis=1)
        pressed = 1e3 * float(np.abs(forces - finest[1]).max())
        key, what = f"along_{along}", f"{4 * across} x {3 * across} x {along} hex20r"
        figures += [
            Figure(f"{key}.unknowns", f"{what}: unknowns", unknowns),
            Figure(f"{key}.mean_mm", "  tip from that of the finest, mean", float(off.mean()), "mm"),
            Figure(f"{key}.largest_mm", "    largest", float(off.max()), "mm"),
            Figure(f"{key}.force_mn", "  force on the floor, largest difference", pressed, "mN"),
            Figure(f"{key}.seconds", "  processor time of all poses", seconds, "s"),
        ]
    movement = 1e3 * np.linalg.norm(finest[0] - [0.0, 0.0, LENGTH], axis=1)
    return [
        *figures,
        Figure("finest.unknowns", f"finest: {4 * FINEST[1]} x {3 * FINEST[1]} x {FINEST[0]}: unknowns", finest[2]),
        Figure("finest.movement_mm", "  how far its tip moves, mean", float(movement.mean()), "mm"),
        Figure("finest.force_mn", "  its largest force on the floor", 1e3 * float(finest[1].max()), "mN"),
    ]


def _answers(along: int, across: int) -> tuple[np.ndarray, np.ndarray, int, float]:
    """Tips (p, 3) [m] and forces on the floor (p,) [N] of all poses, the unknowns, and what they take [s]."""
    twin = _twin(along, across)
    tips, forces, start = [], [], time.process_time()
    for gravity in GRAVITIES:
        for efforts in EFFORTS:
            tips.append(twin.equilibrium(gravity, efforts=efforts).tip)
            forces.append(float(np.linalg.norm(twin.contact_force)))
    return np.array(tips), np.array(forces), twin.model.unknowns.size, time.process_time() - start


def _twin(along: int, across: int) -> ContactTwin:
    """The finger's, with so many layers of cells, and each cell across it in `across` by `across`."""
    content = yaml.safe_load(load_robot("finger").path.read_text(encoding="utf-8"))
    voxels = content["robot"]["body"]["mesh"]["voxels"]
    inner = (LENGTH - 2.0 * WALL) / (along - 2)
    hollow = {"first": [2 * across, across, 1], "last": [3 * across - 1, 2 * across - 1, along - 2]}
    voxels.update(cells=[4 * across, 3 * across, along], along=[WALL, *[inner] * (along - 2), WALL], hollows=[hollow])
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "finger.yaml"
        path.write_text(yaml.safe_dump(content), encoding="utf-8")
        return load_robot(path).build_twin()
