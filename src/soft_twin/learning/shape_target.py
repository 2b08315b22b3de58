"""A surface that a robot shall take: a cloud or a mesh's points, and where it is nearest to other points.

Points are samples of a surface. One stands for a disc across its normal that reaches to the next samples, so that what
counts is how far something is from the surface, not from where it happened to be sampled. What lies beside every disc
is opposite a hole, or beyond the surface's border; only who knows that the target is whole knows that it is the latter.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from soft_twin.checks import checked_numbers
from soft_twin.errors import InputError
from soft_twin.learning.units import units_of

LEAST = 30  # points
AROUND = 12  # points around one that its normal is of
DISC = 0.75  # of the distance of the points, as a disc's radius: a square grid's discs leave no gap
LARGEST = 5.0  # times the body's size: a target that is larger is in another unit
LEAST_WIDTH = 1e-3  # of its length: a narrower target is a line
ALIKE = 2.0  # times the body's size: what a target is in the unit that it may be in


class Feet(NamedTuple):
    """Where a target is nearest to points.

    Attributes:
        away: (p, 3) from its feet to the points [mm].
        normals: (p, 3) of the target there.
        beside: (p,) how far points are beside the discs, across their normals [mm].
    """

    away: np.ndarray
    normals: np.ndarray
    beside: np.ndarray


@dataclass(frozen=True)
class ShapeTarget:
    """See the module's docstring.

    Attributes:
        points: (k, 3) [mm].
        normals: (k, 3) of length 1; either of the two directions.
        spacing: how far points are apart [mm].
        extent: how large it is [mm].
        tree: of the points.
        whole: it has no holes: what is beside its discs is beyond its border, and shall come in.
    """

    points: np.ndarray
    normals: np.ndarray
    spacing: float
    extent: float
    tree: cKDTree
    whole: bool = False

    @classmethod
    def of(
        cls,
        points: np.ndarray,
        normals: np.ndarray | None = None,
        whole: bool = False,
    ) -> "ShapeTarget":
        """Of points (k, 3) [m], with normals (k, 3) or, without, those of planes through the points around each.

        Args:
            points: see above.
            normals: see above.
            whole: it has no holes.

        Raises:
            InputError: too few points, no finite numbers, no area, or other normals than points.
        """
        points = 1e3 * _checked(points)
        extent = float(np.ptp(points, axis=0).max())
        tree = cKDTree(points)
        distances, around = tree.query(points, AROUND)
        spacing = float(np.median(distances[:, 4]))  # of points on a square grid, and of points drawn evenly
        if not np.isfinite(distances).all():
            raise InputError(f"target: its {len(points)} points are further apart than can be computed: are they in m?")
        if not spacing > 1e-6 * extent:
            raise InputError(f"target: {len(points)} points, most of them are the same few")
        along, across, _ = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[1]
        if across < LEAST_WIDTH * along:
            raise InputError(f"target: {len(points)} points on a line, which is no surface")
        normals = _planes(points, around) if normals is None else _checked_normals(normals, len(points))
        return cls(points, normals, spacing, extent, tree, whole)

    def feet(self, points: np.ndarray) -> Feet:
        """Of points (p, 3) [mm] in the target's own frame."""
        _, nearest = self.tree.query(points)
        normals = self.normals[nearest]
        away = points - self.points[nearest]
        off = (away * normals).sum(axis=1, keepdims=True) * normals
        across = away - off
        length = np.sqrt((across**2).sum(axis=1))
        beside = np.maximum(length - DISC * self.spacing, 0.0)
        return Feet(off + across * (beside / np.maximum(length, 1e-12))[:, None], normals, beside)


def check_size(extent: float, size: float) -> None:
    """Refuse a target so large [mm] for a body of a size [mm].

    Raises:
        InputError: with both, and the unit that it seems to be in.
    """
    if size / LARGEST <= extent <= LARGEST * size:
        return
    units = units_of(extent, size / ALIKE, ALIKE * size)
    raise InputError(
        f"target: it is {1e-3 * extent:.4g} m large, the body {1e-3 * size:.3g} m: is it "
        f"{f'in {units}' if units else 'of something else'}? Metres are expected"
    )


def _checked(points: np.ndarray) -> np.ndarray:
    points = checked_numbers(points, f"{LEAST} or more points (k, 3)", "target")
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < LEAST:
        raise InputError(f"target: expected {LEAST} or more points (k, 3), found {points.shape}")
    wrong = int((~np.isfinite(points).all(axis=1)).sum())
    if wrong:
        raise InputError(f"target: {wrong} of its {len(points)} points are not finite")
    return points


def _checked_normals(normals: np.ndarray, count: int) -> np.ndarray:
    normals = checked_numbers(normals, "normals (k, 3)", "target")
    if normals.shape != (count, 3):
        raise InputError(f"target: {count} points, but normals {normals.shape}")
    with np.errstate(over="ignore"):  # told below
        lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    wrong = int((~((lengths > 1e-3) & np.isfinite(lengths))).sum())
    if wrong:
        raise InputError(f"target: {wrong} of its {count} normals have no direction")
    return normals / lengths


def _planes(points: np.ndarray, around: np.ndarray) -> np.ndarray:
    """(k, 3) normals of the planes nearest to points and those around (k, n) each."""
    near = points[around]
    near = near - near.mean(axis=1, keepdims=True)
    return np.linalg.eigh(np.einsum("kni,knj->kij", near, near))[1][:, :, 0]
