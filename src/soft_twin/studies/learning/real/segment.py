"""A pneumatic arm's segment, one chamber at 100 to 400 mbar, motion capture: each pressure by the other three.

The twin is the prediction of `validate sopra`: the authors' modulus, and threads as good as inextensible, of which
nothing was measured. The tip moves as a plate, whose pose its three markers tell; what is learned from are places
around the tip's rim that move with it. The arm's axis is known from its undeformed pose, the side to which it bends
from the recordings that are learned from; where it hangs without pressure is learned from, too. Errors are those of the
middle of the tip.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from soft_twin.errors import UsageError
from soft_twin.learning.frames import MarkerRecording
from soft_twin.learning.markers import learn_warp_by_markers, marker_parameters
from soft_twin.learning.shape_twins import FemShapes
from soft_twin.learning.teaching import learn_shapes
from soft_twin.learning.training import WarpTraining
from soft_twin.mechanics.actuators.chambers import Chambers
from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.loads.loads import Gravity
from soft_twin.mechanics.materials import energy_named
from soft_twin.mechanics.materials.fibres import Fibres
from soft_twin.mechanics.model import Model
from soft_twin.mesh.mesh import Mesh, boundary_faces
from soft_twin.mesh.selection import centres_and_normals
from soft_twin.parallel import Say
from soft_twin.recording.c3d_files import read_markers
from soft_twin.studies import sopra_segment as segment
from soft_twin.studies.learning.real.tested import Tested
from soft_twin.twins.finite_element import FemTwin

LIMITS = np.array([[0.0, 45e3]])  # [Pa]
SHAPES, KERNELS, RIM = 40, 25, 12
UNDEFORMED = slice(10, 40)  # frames before the step
LAST, BEFORE = 50, 10  # frames that are averaged, so many before the vent
MM = 1e3


def tested(data: Path, say: Say | None = None) -> list[Tested]:
    """Each pressure by the others.

    Raises:
        UsageError: the recordings are not there.
    """
    moves = [_moved(data / segment.FOLDER / f"{pressure:.0f}mbar_V3.c3d") for pressure in segment.PRESSURES]
    twin, pressures = segment_twin(), segment.MBAR * segment.PRESSURES[:, None]
    shapes, _ = learn_shapes(twin.simulations(SHAPES, say), twin.surface, twin.inflation, 2, say=say)
    at_rest = twin.shapes_of(np.zeros((1, 1)))[0]
    rim, rows = _rim(at_rest), []
    middle = rim.mean(axis=0)
    for i, pressure in enumerate(segment.PRESSURES):
        others = [k for k in range(len(moves)) if k != i]
        axes = _axes([moves[k][0] for k in others])
        markers = np.array([rim, *(_carried(rim, middle, *moves[k], axes) for k in others)])
        recording = MarkerRecording(np.vstack([[0.0], pressures[others]]), markers, rim)
        correction = learn_warp_by_markers(shapes, recording, None, WarpTraining(KERNELS, 2, 24), say)
        uv, true = marker_parameters(shapes, rim), _carried(rim, middle, *moves[i], axes).mean(axis=0)
        found = (correction.simulated(pressures[i], uv), correction(pressures[i], uv))
        before, after = (MM * float(np.linalg.norm(each.mean(axis=0) - true)) for each in found)
        words = ", ".join(f"{segment.PRESSURES[k]:.0f}" for k in others)
        about = "pneumatic segment, markers", f"{words} mbar", f"{pressure:.0f} mbar", "mm"
        rows.append(Tested(*about, before, after, before, after))
    return rows


def segment_twin() -> FemShapes:
    """The segment with its first chamber as an actuator; what is learned is its outer side."""
    mesh = segment.segment_mesh()
    mesh = replace(mesh, surfaces={**mesh.surfaces, "outside": _outer_side(mesh)})
    law = energy_named("neo_hookean", segment.YOUNG_MODULUS, segment.POISSON_RATIO)
    walls = np.concatenate(list(mesh.volumes.values()))
    threads = Material(Fibres(segment.STIFF, segment.fibre_directions(mesh)), 0.0, walls)
    body = Body(mesh, [Material(law, segment.DENSITY), threads], "base")
    model = Model(body, [Gravity()], actuators=[Chambers(["chamber 1"])])
    return FemShapes(FemTwin(model, segment.LENGTH), "outside", LIMITS, ["chamber 1"], parts=2)


def _outer_side(mesh: Mesh) -> np.ndarray:
    faces = boundary_faces(mesh)
    centres, normals = centres_and_normals(mesh, faces)
    around = (normals[:, :2] * centres[:, :2]).sum(axis=1) > 0.5 * np.hypot(*centres[:, :2].T)
    return faces[around & (np.hypot(*centres[:, :2].T) > 0.9 * segment.RADIUS)]


def _rim(points: np.ndarray) -> np.ndarray:
    """(RIM, 3) points of the surface around its lower end, evenly chosen [m]."""
    lowest = points[points[:, 2] < points[:, 2].min() + 1e-3]
    order = np.argsort(np.arctan2(lowest[:, 1], lowest[:, 0]))
    return lowest[order[np.linspace(0, len(order), RIM, endpoint=False).astype(int)]]


def _moved(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """How the tip has moved before the chamber is vented, in the cameras' axes: its middle (3,) [m], and its turn."""
    if not path.is_file():
        raise UsageError(f"no recording '{path}': give the folder of the recordings with --data or $SOFT_TWIN_DATA")
    frames = read_markers(path)
    side = frames[:, 4:6].mean(axis=1)
    tip = side - segment.BEYOND / segment.ACROSS * (frames[:, 6] - side) - frames[:, :4].mean(axis=1)
    away = np.linalg.norm(tip - tip[UNDEFORMED].mean(axis=0), axis=1)
    end = int(np.flatnonzero(away > 0.7 * away.max())[-1]) - BEFORE
    own, rest = (frames[part, 4:].mean(axis=0) for part in (slice(end - LAST, end), UNDEFORMED))
    turn, _ = Rotation.align_vectors(own - own.mean(axis=0), rest - rest.mean(axis=0))
    return tip[end - LAST : end].mean(axis=0) - tip[UNDEFORMED].mean(axis=0), turn.as_matrix()


def _axes(moves: list[np.ndarray]) -> np.ndarray:
    """(3, 3) from the cameras' axes to the twin's: z up, against the arm that hangs along x; x against the bend."""
    up = np.array([-1.0, 0.0, 0.0])
    aside = -np.mean(moves, axis=0)
    aside = aside - (aside @ up) * up
    aside = aside / np.linalg.norm(aside)
    return np.array([aside, np.cross(up, aside), up])


def _carried(rim: np.ndarray, middle: np.ndarray, move: np.ndarray, turn: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """(RIM, 3) places around the tip after a movement of it in the cameras' axes."""
    return middle + axes @ move + (rim - middle) @ (axes @ turn @ axes.T).T
