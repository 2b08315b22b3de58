"""How far what was seen of a robot is from the surface that is predicted: of frames that taught it, or that did not."""

import numpy as np

from soft_twin.learning.correction import MM, Correction
from soft_twin.learning.evaluation import surface_distances
from soft_twin.learning.frames import MarkerRecording, Recording
from soft_twin.learning.layer import lattice
from soft_twin.learning.markers import marker_parameters
from soft_twin.learning.teaching import thinned
from soft_twin.mesh.triangles import grid_triangles

SIDE = 60  # points of the predicted surface along u and v


def frame_errors(correction: Correction, recording: Recording | MarkerRecording, corrected: bool = True) -> np.ndarray:
    """(f, 2) mean and largest distance [mm] of each frame's points from the surface, or of its markers from their
    places on it; corrected or as simulated."""
    markers = isinstance(recording, MarkerRecording)
    uv = marker_parameters(correction.shapes, recording.rest) if markers else lattice(SIDE**2)
    found = []
    for row, pressures in enumerate(recording.pressures):
        points = _predicted(correction, recording, row, pressures, uv, corrected)
        if markers:
            distances = np.linalg.norm(points - recording.markers[row], axis=1)
        else:
            seen = thinned(recording.scans[row]).points
            distances = surface_distances(seen, points, grid_triangles(SIDE, SIDE))
        found.append([MM * np.nanmean(distances), MM * np.nanmax(distances)])
    return np.array(found)


def _predicted(correction: Correction, recording, row: int, pressures: np.ndarray, uv: np.ndarray, corrected: bool):
    if not corrected:
        return correction.simulated(pressures, uv)
    timed = correction.inputs.reference is not None and recording.held is not None
    return correction(pressures, uv, float(recording.held[row]) if timed else None)
