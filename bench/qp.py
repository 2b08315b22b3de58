"""Quadratic programs of the twin, by the solvers that are installed: time and distance from the exact solution.

Three kinds: the cables' of a control tick (6 variables); a block of tetrahedra pressed by a plane, in the forces of
the contacts (dense, λ ≥ 0, W = J K⁻¹ Jᵀ); the same block in its displacements (sparse, one row for each contact).
The exact solution is that of DAQP's active set, which is right to round-off. Solvers are asked for 1e-8.
"""

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import importlib.util  # noqa: E402
import warnings  # noqa: E402
from collections.abc import Callable  # noqa: E402
from dataclasses import dataclass  # noqa: E402
from unittest.mock import patch  # noqa: E402

import numpy as np  # noqa: E402
from scipy.sparse import coo_matrix, csc_matrix, csr_matrix  # noqa: E402
from scipy.sparse.linalg import splu  # noqa: E402

from soft_twin import load_robot  # noqa: E402
from soft_twin.app.measuring import Figure, time_calls  # noqa: E402
from soft_twin.errors import UsageError  # noqa: E402
from soft_twin.inverse import priorities  # noqa: E402
from soft_twin.linear_algebra.quadratic_programs import solve_bounded_qp, solve_box_qp, solve_qp  # noqa: E402
from soft_twin.mesh.generate.voxels import voxel_mesh  # noqa: E402

TOLERANCE = 1e-8
SETTINGS = {
    "daqp": {},
    "piqp": {"eps_abs": TOLERANCE, "eps_rel": TOLERANCE},
    "proxqp": {"eps_abs": TOLERANCE, "eps_rel": 0.0},
    "clarabel": {"tol_gap_abs": TOLERANCE, "tol_gap_rel": TOLERANCE, "tol_feas": TOLERANCE},
    "osqp": {"eps_abs": TOLERANCE, "eps_rel": TOLERANCE, "max_iter": 100_000},
}
DENSE_ONLY = ("daqp",)
YOUNG_MODULUS, POISSON_RATIO, DENSITY, SIZE = 1e5, 0.45, 1000.0, 0.1  # of the block [Pa], -, [kg/m³], [m]


@dataclass(frozen=True)
class Program:
    """min ½ xᵀ P x + qᵀ x with low ≤ x ≤ high and G x ≤ h; `exact` is its solution."""

    P: object
    q: np.ndarray
    low: np.ndarray
    high: np.ndarray
    G: object
    h: np.ndarray
    exact: np.ndarray


def measure() -> list[Figure]:
    """Median time and accuracy of each solver on each kind of program.

    Raises:
        UsageError: `qpsolvers` is not installed.
    """
    if importlib.util.find_spec("qpsolvers") is None:
        raise UsageError("bench qp compares solvers through qpsolvers: pip install 'soft_twin[bench]'")
    figures = [_installed(name) for name in SETTINGS]
    figures += _figures("cables", "cables of a tick, 6 variables", cable_programs(), 20)
    for across in (4, 8, 16):
        block = PressedBlock(across)
        dual = block.dual()
        figures += _figures(f"dual_{across}", f"{len(dual.q)} contact forces, dense", [dual], 20)
    primal = PressedBlock(12).primal()
    what = f"{len(primal.q)} displacements, {len(primal.h)} contacts, sparse"
    return figures + _figures("primal", what, [primal], 3)


def _installed(name: str) -> Figure:
    import qpsolvers

    installed = name in qpsolvers.available_solvers
    return Figure(f"{name}.installed", f"{name} {'is' if installed else 'is not'} installed", float(installed))


def _figures(key: str, what: str, programs: list[Program], count: int) -> list[Figure]:
    import qpsolvers

    figures = []
    dense = isinstance(programs[0].P, np.ndarray)
    for name in SETTINGS:
        if name in qpsolvers.available_solvers and (dense or name not in DENSE_ONLY):
            figures += _timed(f"{key}.{name}", f"{what}: {name}", programs, _through_qpsolvers(name), count)
    if dense:
        figures += _timed(f"{key}.ours", f"{what}: daqp, called directly", programs, _ours, count)
    return figures


def _timed(key: str, what: str, programs: list[Program], solve: Callable, count: int) -> list[Figure]:
    answers = [solve(program) for program in programs]
    found = [x is not None for x in answers]
    errors = [_distance(x, program.exact) for x, program in zip(answers, programs, strict=True) if x is not None]
    times = time_calls(lambda i: solve(programs[i % len(programs)]), count * len(programs), warm_up=1)
    figures = [
        Figure(f"{key}.median_ms", f"{what}: median", float(np.median(times)), "ms"),
        Figure(f"{key}.found", "  share with a solution", float(np.mean(found)), "", "1"),
    ]
    if errors:
        figures.insert(1, Figure(f"{key}.error", "  largest relative distance from the solution", max(errors)))
    return figures


def _distance(x: np.ndarray, exact: np.ndarray) -> float:
    return float(np.linalg.norm(x - exact) / np.linalg.norm(exact))


def _through_qpsolvers(name: str) -> Callable[[Program], np.ndarray | None]:
    import qpsolvers

    def solve(program: Program) -> np.ndarray | None:
        problem = qpsolvers.Problem(
            program.P, program.q, program.G, program.h, lb=_finite(program.low), ub=_finite(program.high)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            solution = qpsolvers.solve_problem(problem, name, **SETTINGS[name])
        return solution.x if solution.found else None

    return solve


def _finite(bounds: np.ndarray) -> np.ndarray | None:
    return bounds if np.isfinite(bounds).any() else None


def _ours(program: Program) -> np.ndarray:
    rows = np.zeros((0, len(program.q))) if program.G is None else program.G
    limits = np.zeros(0) if program.G is None else program.h
    return solve_qp(program.P, program.q, program.low, program.high, rows, np.full(len(limits), -np.inf), limits)


def cable_programs(count: int = 20) -> list[Program]:
    """Those of a controller while gravity swings and its target runs around a circle."""
    programs: list[Program] = []

    def recorded(H, f, bounds, start, kept):
        if not len(kept):
            rows = bounds.A, bounds.rows_low, bounds.rows_high
            exact, scale = solve_qp(H, f, bounds.low, bounds.high, *rows), np.trace(H) / len(f)
            G, h = np.vstack([bounds.A, -bounds.A]), np.concatenate([bounds.rows_high, -bounds.rows_low])
            programs.append(Program(H / scale, f / scale, bounds.low, bounds.high, G, h, exact))
        return solve_bounded_qp(H, f, bounds, start, kept)

    controller = load_robot("slender").build_controller()
    controller.enable(True)
    with patch.object(priorities, "solve_bounded_qp", recorded):
        for i in range(3 * count):
            angle = 2 * np.pi * i / 200
            controller.set_target([0.01 * np.cos(angle), 0.01 * np.sin(angle), 0.097])
            controller.update(9.81 * np.array([0.6 * np.cos(angle), 0.6 * np.sin(angle), -0.8]))
    return programs[-count:]


class PressedBlock:
    """A cube of linear tetrahedra under its weight, held at its bottom; a tilted plane presses on its top.

    The nodes of the top stay below the plane: K u = w − Jᵀ λ with λ ≥ 0, gaps − J u ≥ 0, one of them zero.
    """

    def __init__(self, across: int):
        """`across`: cells along an edge."""
        mesh = voxel_mesh(np.ones((across,) * 3, dtype=bool), 1.0 / across, "tet4")
        nodes, cells = mesh.nodes, mesh.cells
        free = nodes[:, 2] > 0.0
        unknowns = np.flatnonzero(np.repeat(free, 3))
        self.K = stiffness(SIZE * nodes, cells)[unknowns][:, unknowns].tocsc()
        top = np.flatnonzero(nodes[free, 2] > 1.0 - 1e-9)
        x, y = nodes[free][top, 0], nodes[free][top, 1]
        self.gaps = SIZE * (0.03 * x + 0.01 * y - 0.02)
        m, n = len(top), self.K.shape[0]
        self.J = csc_matrix((np.ones(m), (np.arange(m), 3 * top + 2)), (m, n))
        self.weight = np.zeros(n)
        self.weight[2::3] = -DENSITY * 9.81 * SIZE**3 / (n / 3)
        self.solve = splu(self.K).solve
        W = self.J @ self.solve(self.J.T.toarray())
        self.W, self.c = 0.5 * (W + W.T), self.gaps - self.J @ self.solve(self.weight)
        self.forces = solve_box_qp(self.W, self.c, np.zeros(m), np.inf)

    def dual(self) -> Program:
        """In the forces of the contacts, scaled to a mean diagonal of one."""
        m = len(self.c)
        scale = float(np.trace(self.W)) / m
        low, high = np.zeros(m), np.full(m, np.inf)
        return Program(self.W / scale, self.c / scale, low, high, None, None, self.forces)

    def primal(self) -> Program:
        """In the displacements, scaled likewise."""
        scale, endless = float(self.K.diagonal().mean()), np.full(self.K.shape[0], np.inf)
        exact = self.solve(self.weight - self.J.T @ self.forces)
        return Program(self.K / scale, -self.weight / scale, -endless, endless, self.J, self.gaps, exact)


def stiffness(nodes: np.ndarray, cells: np.ndarray) -> csr_matrix:
    """Linear elastic stiffness (3 n, 3 n) [N/m] of linear tetrahedra."""
    lam = YOUNG_MODULUS * POISSON_RATIO / ((1.0 + POISSON_RATIO) * (1.0 - 2.0 * POISSON_RATIO))
    mu = YOUNG_MODULUS / (2.0 * (1.0 + POISSON_RATIO))
    edges = nodes[cells[:, 1:]] - nodes[cells[:, :1]]
    corners = np.linalg.inv(edges).transpose(0, 2, 1)
    g = np.concatenate([-corners.sum(axis=1, keepdims=True), corners], axis=1)
    K = lam * np.einsum("mai,mbj->maibj", g, g) + mu * np.einsum("maj,mbi->maibj", g, g)
    K += mu * np.einsum("mas,mbs,ij->maibj", g, g, np.eye(3))
    K *= np.abs(np.linalg.det(edges))[:, None, None, None, None] / 6.0
    unknowns = (3 * cells[:, :, None] + np.arange(3)).reshape(-1, 12)
    rows, columns = np.repeat(unknowns, 12, axis=1).ravel(), np.tile(unknowns, (1, 12)).ravel()
    return coo_matrix((K.ravel(), (rows, columns)), (3 * len(nodes),) * 2).tocsr()
