"""Points inside the cells of a mesh, and straight lines cut where they pass from cell to cell."""

import numpy as np
from scipy.spatial import cKDTree

from soft_twin.errors import MeshError
from soft_twin.mesh.mesh import Mesh

INSIDE = 1e-6  # [reference units] how far a point may lie outside a cell that it is counted to
CLOSE = 1e-11  # [reference units] how well a face is met where a line crosses it …
MOST_STEPS = 40  # … and the most steps to it, …
BESIDE = 1e-3  # … with slopes by so much of what it is known to lie within


def natural_coordinates(mesh: Mesh, cells: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Reference coordinates (p, 3) of points (p, 3) in the given cells (p,), by Newton's method."""
    corners = mesh.nodes[mesh.cells[cells]]
    natural = np.tile(mesh.element.nodes.mean(axis=0), (len(points), 1))
    for _ in range(12):
        values, gradients = mesh.element.values(natural), mesh.element.gradients(natural)
        residual = points - np.einsum("pk,pki->pi", values, corners)
        jacobian = np.einsum("pki,pkj->pij", corners, gradients)
        step = np.linalg.solve(jacobian, residual[:, :, None])[:, :, 0]
        natural = np.clip(natural + step, -3.0, 3.0)
        if np.abs(step).max(initial=0.0) < 1e-13:
            break
    return natural


def slopes(mesh: Mesh, cells: np.ndarray, points: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Derivatives (p, k) of the shape functions of cells (p,) at points (p, 3) along a direction (3,), all of the
    undeformed body."""
    gradients = mesh.element.gradients(natural_coordinates(mesh, cells, points))
    jacobian = np.einsum("pki,pkj->pij", mesh.nodes[mesh.cells[cells]], gradients)
    along = np.linalg.solve(jacobian, np.broadcast_to(direction[:, None], (len(cells), 3, 1)))
    return np.einsum("pkj,pj->pk", gradients, along[:, :, 0])


def locate(mesh: Mesh, points: np.ndarray) -> np.ndarray:
    """Cell (p,) that contains each of (p, 3) points, −1 where none does; on a boundary, the first that fits best."""
    corners = mesh.nodes[mesh.cells]
    margin = 1e-3 * np.ptp(corners, axis=1).max()
    low, high = corners.min(axis=1) - margin, corners.max(axis=1) + margin
    near = cKDTree(0.5 * (low + high)).query_ball_point(
        points, 0.5 * np.linalg.norm(high - low, axis=1).max(), return_sorted=True
    )
    point = np.repeat(np.arange(len(points)), [len(each) for each in near])
    cell = np.concatenate([np.zeros(0), *near]).astype(np.int64)
    within = ((points[point] >= low[cell]) & (points[point] <= high[cell])).all(axis=1)
    point, cell = point[within], cell[within]
    outside = mesh.element.outside(natural_coordinates(mesh, cell, points[point]))
    found, distance = np.full(len(points), -1), np.full(len(points), INSIDE)
    for p, c, far in zip(point, cell, outside, strict=True):
        if far < distance[p] - 1e-9:
            found[p], distance[p] = c, far
    return found


def cut_lines(
    mesh: Mesh, starts: np.ndarray, ends: np.ndarray, samples: int = 400
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Cut straight lines from `starts` to `ends` (c, 3) where they leave a cell.

    Returns:
        For each line, the cells (s,) that its pieces run through, and parameters (s + 1,) in 0…1 of their ends.

    Raises:
        MeshError: a part of a line lies outside the mesh.
    """
    t = (np.arange(samples) + 0.5) / samples
    points = starts[:, None] + t[:, None] * (ends - starts)[:, None]
    cells = locate(mesh, points.reshape(-1, 3)).reshape(points.shape[:2])
    if (cells < 0).any():
        where = 1e3 * points[cells < 0][0]
        raise MeshError(
            f"a cable leaves the body at ({where[0]:.2f}, {where[1]:.2f}, {where[2]:.2f}) mm: one that runs outside "
            "has guides, or nodes that carry its end"
        )
    line, sample = np.nonzero(np.diff(cells, axis=1))
    between = t[sample], t[sample + 1]
    cuts = _crossings(mesh, starts[line], (ends - starts)[line], cells[line, sample], cells[line, sample + 1], *between)
    return [
        (np.append(cells[i, 0], cells[i, sample[line == i] + 1]), np.concatenate([[0.0], cuts[line == i], [1.0]]))
        for i in range(len(starts))
    ]


def _crossings(
    mesh: Mesh,
    starts: np.ndarray,
    ways: np.ndarray,
    left: np.ndarray,
    entered: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> np.ndarray:
    """Parameters (k,) between `low` and `high` (k,) at which lines from `starts` along `ways` (k, 3) leave the cells
    `left` (k,) for the `entered` ones: where they are as far outside of the one as of the other, as a line along a face
    is as far outside as rounding says. By Newton's method from both ends, as it has a kink there; by halves where that
    leads nowhere."""
    both = np.concatenate([left, left, entered, entered])

    def further(t: np.ndarray) -> np.ndarray:
        """(2, k) how much further outside of the cell that is left than of the other, in reference units."""
        points = (starts + t[:, :, None] * ways).reshape(-1, 3)
        outside = mesh.element.outside(natural_coordinates(mesh, both, np.tile(points, (2, 1))))
        return np.subtract(*outside.reshape(2, *t.shape))

    ends, inward = np.array([low, high]), np.array([[1.0], [-1.0]])
    values, found = further(ends), 0.5 * (low + high)
    for _ in range(MOST_STEPS if len(found) else 0):
        beside = BESIDE * inward * (ends[1] - ends[0])
        rises = inward * (further(ends + beside) - values)
        steps = -values * np.abs(beside) / np.where(rises > 0.0, rises, 1.0)
        leads = (rises > 0.0) & (np.abs(steps) < ends[1] - ends[0])
        tried = np.where(leads, ends + steps, ends.mean(axis=0))
        far = further(tried)
        best = np.abs(far).argmin(axis=0)[None]
        found = np.take_along_axis(tried, best, axis=0)[0]
        if np.abs(np.take_along_axis(far, best, axis=0)).max() < CLOSE:
            break
        for t, value in zip(tried, far, strict=True):
            nearer = np.flatnonzero((ends[0] < t) & (t < ends[1]))
            side = np.where(value[nearer] < 0.0, 0, 1)
            ends[side, nearer], values[side, nearer] = t[nearer], value[nearer]
    return found
