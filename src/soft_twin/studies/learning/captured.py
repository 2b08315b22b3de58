"""Motion capture of an emulated reality, beside its scans: the same frames, seen as markers with gaps."""

from pathlib import Path

import numpy as np

from soft_twin.emulation.motion_capture import MarkerPlaces, capture, spread_markers
from soft_twin.learning.frames import MarkerRecording, read_recording, write_markers


def captured(
    robot,
    learning,
    at_rest: dict[str, np.ndarray],
    frames: list[dict[str, np.ndarray]],
    limits: np.ndarray,
    size: float,
    folder: Path,
) -> MarkerRecording:
    """Frames of the reality as cameras see them, written as `soft-twin train` reads them, and read.

    Args:
        robot: whose they are.
        learning: what its description says of it.
        at_rest: true points and triangles without pressure.
        frames: pressures, how long they had stood, true points and triangles of each.
        limits: (a, 2) of the pressures [Pa].
        size: of the surface [m].
        folder: of the recording.
    """
    points, triangles = at_rest["points"], at_rest["triangles"]
    places = spread_markers(points, triangles, learning.markers.count, np.random.default_rng([learning.seed, 4]))
    rest = places.at(points)
    rest = rest + np.random.default_rng([learning.seed, 5]).normal(0.0, learning.markers.noise, rest.shape)
    seen = np.array([_seen(learning, places, frame, number) for number, frame in enumerate(frames)])
    pressures, held = (np.array([frame[name] for frame in frames]) for name in ("pressures", "held"))
    write_markers(folder, pressures, robot.chamber_names, seen, rest, held)
    return read_recording(folder, robot.chamber_names, limits, size)


def _seen(learning, places: MarkerPlaces, frame: dict[str, np.ndarray], number: int) -> np.ndarray:
    random = np.random.default_rng([learning.seed, 6, number])
    return capture(frame["points"], frame["triangles"], places, learning.markers, random)
