"""How far a simulation is from a recording: markers (SORS, eq. 20) and clouds of points (eq. 21)."""

import numpy as np
from scipy.spatial import cKDTree


def marker_error(found: np.ndarray, measured: np.ndarray) -> float:
    """Mean distance [m] of markers (…, 3), over all of them, all times and all loads (eq. 20)."""
    return float(np.linalg.norm(found - measured, axis=-1).mean())


def chamfer_distance(found: np.ndarray, measured: np.ndarray) -> float:
    """√(mean of p's squared distances to Q + mean of q's to P) [m] of two clouds (p, 3) and (q, 3) (eq. 21)."""
    there, back = nearest_distances(found, measured), nearest_distances(measured, found)
    return float(np.sqrt((there**2).mean() + (back**2).mean()))


def nearest_distances(of: np.ndarray, to: np.ndarray) -> np.ndarray:
    """Distance [m] of each of (p, 3) points to the nearest of (q, 3)."""
    return cKDTree(to).query(of)[0]
