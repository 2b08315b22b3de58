"""The neck's constant-curvature kinematics: time of one pose, of a million, and of the way back."""

import numpy as np

from soft_twin.app.measuring import Figure, time_calls
from soft_twin.twins.constant_curvature import ConstantCurvature

ANGLES = np.radians([90.0, 210.0, 330.0])
LENGTH, RADIUS = 0.1, 0.04  # [m]
POSES, TOGETHER = 20_000, 1_000_000
LARGEST = 0.7  # [rad] of pitch and roll


def measure() -> list[Figure]:
    """The rows for cables along arcs and along chords."""
    return [figure for cables in ("arc", "chord") for figure in _figures(cables)]


def _figures(cables: str) -> list[Figure]:
    neck = ConstantCurvature([LENGTH], RADIUS * np.column_stack([np.cos(ANGLES), np.sin(ANGLES)]), cables=cables)
    poses = np.random.default_rng(0).uniform(-LARGEST, LARGEST, (TOGETHER, 2))
    one_by_one, wound = poses[:POSES].tolist(), neck.displacements(*poses[:POSES].T)
    single = time_calls(lambda i: neck.displacements(*one_by_one[i]), POSES)
    together = time_calls(lambda i: neck.displacements(*poses.T), 3)
    back = time_calls(lambda i: neck.orientation(wound[i]), POSES // 10)
    return [
        Figure(
            f"{cables}.ms", f"{cables}: pitch and roll to cables, median", float(np.median(single)), "ms", "<= 0.005"
        ),
        Figure(f"{cables}.p99_ms", "  99th percentile", float(np.percentile(single, 99)), "ms"),
        Figure(f"{cables}.million_s", "  a million poses in one call", 1e-3 * float(np.median(together)), "s", "<= 1"),
        Figure(f"{cables}.back_ms", "  cables to orientation, median", float(np.median(back)), "ms"),
    ]
