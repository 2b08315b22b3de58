"""Elements: what each must do exactly, and how fast what it only approximates converges.

Exactly: a homogeneous deformation is in equilibrium (the patch test), rigid motions cost nothing, the tangent is
symmetric. Rates: Hooke's law in a cube, its surface held, with body forces that belong to u = c sin πx sin πy sin πz;
on cells distorted by a smooth map, the errors of displacements and of their gradients must fall with the powers p + 1
and p of the cells' size for shape functions of order p. Picture: convergence.png.
"""

from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.materials import energy_named
from soft_twin.mesh.elements import ELEMENTS, Element
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.mesh.mesh import Mesh, boundary_faces, jacobians, make_mesh
from soft_twin.studies.results import write_picture

matplotlib.use("Agg")

YOUNG_MODULUS, POISSON_RATIO = 1.0e5, 0.3
COEFFICIENTS = np.array([1.0, -0.6, 0.4])
COUNTS = {1: (4, 8, 12), 2: (2, 4, 6)}  # cells along an edge of the cube, by order
DISTORTION = 0.04  # of the cube's edge
STRETCH = np.array([[1.05, 0.02, -0.01], [0.0, 0.97, 0.04], [0.03, 0.01, 1.02]])


@dataclass(frozen=True)
class Report:
    """What an element does.

    Attributes:
        name: of the element.
        patch: greatest force on an inner node under a homogeneous deformation, through the greatest on an outer one.
        rigid: force under a rigid motion, through that.
        asymmetry: |a · K b − b · K a| through |a · K b|, by differences of forces.
        zero_modes: of one cell alone at rest; six of them are rigid motions.
        order: p of the shape functions.
        sizes: (r,) of the cells.
        errors: (r, 2) relative errors of displacements and gradients, root mean squares over the cube.
    """

    name: str
    patch: float
    rigid: float
    asymmetry: float
    zero_modes: int
    order: int
    sizes: np.ndarray
    errors: np.ndarray

    @property
    def rates(self) -> np.ndarray:
        """Of displacements and gradients (2,), between the two finest meshes."""
        return np.log(self.errors[-2] / self.errors[-1]) / np.log(self.sizes[-2] / self.sizes[-1])


def run(folder: Path, data: Path) -> str:
    """All elements; `data` is not used."""
    reports = [report(element) for element in ELEMENTS.values()]
    _draw(folder / "convergence.png", reports)
    return table(reports)


def report(element: Element) -> Report:
    """One element's."""
    body = _body(_cube(element, 3), "corotational")
    order = 2 if hasattr(element, "edges") else 1
    return Report(
        element.name,
        *_exact(body),
        zero_modes(element),
        order,
        np.array([1.0 / count for count in COUNTS[order]]),
        np.array([errors(_cube(element, count)) for count in COUNTS[order]]),
    )


def table(reports: list[Report]) -> str:
    """The reports as lines of text."""
    lines = [
        f"{'element':8} {'patch test':>10} {'rigid':>8} {'asymmetry':>9} {'zero modes':>10} "
        f"{'rate of u':>18} {'rate of grad u':>17}   finest errors"
    ]
    for each in reports:
        (u, gradient), (last_u, last_gradient) = each.rates, 100.0 * each.errors[-1]
        lines.append(
            f"{each.name:8} {each.patch:10.1e} {each.rigid:8.1e} {each.asymmetry:9.1e} {each.zero_modes:10d} "
            f"{u:8.2f} (p + 1 = {each.order + 1}) {gradient:9.2f} (p = {each.order})   "
            f"{last_u:.3f} %, {last_gradient:.2f} %"
        )
    lines.append("Zero modes beyond six are stopped by neighbouring cells, unless cells stand in a single column.")
    return "\n".join(lines)


def zero_modes(element: Element) -> int:
    """Number of ways in which one cell at rest moves without force."""
    corners = element.nodes if element.corners_per_face == 3 else 0.5 * element.nodes
    mesh = make_mesh(corners, np.arange(len(corners))[None], element)
    K = _dense(Body(mesh, Material(energy_named("corotational", 1.0, POISSON_RATIO), 1.0)))
    values = np.abs(np.linalg.eigvalsh(K))
    return int(np.count_nonzero(values < 1e-9 * values.max()))


def errors(mesh: Mesh) -> np.ndarray:
    """Relative errors (2,) of displacements and gradients on one mesh of the cube."""
    body = _body(mesh, "linear")
    points, weights = fine_rule(mesh.element)
    matrix, volumes, places, gradients = _at(mesh, points, weights)
    force = np.zeros_like(mesh.nodes)
    shares = np.einsum("mq,qk,mqi->mki", volumes, mesh.element.values(points), _body_force(places))
    np.add.at(force, mesh.cells, shares)
    found = _solve(body, force)[mesh.cells]
    u, du = _solution(places)
    own = np.einsum("qk,mki->mqi", mesh.element.values(points), found)
    slope = np.einsum("mki,mqkj->mqij", found, gradients)
    return np.array([_relative(volumes, own - u, u), _relative(volumes, slope - du, du)])


def fine_rule(element: Element) -> tuple[np.ndarray, np.ndarray]:
    """Quadrature (q, 3), (q,) of the reference cell that is finer than the element's own: 4 points a direction."""
    x, w = np.polynomial.legendre.leggauss(4)
    grid = np.stack(np.meshgrid(x, x, x, indexing="ij"), axis=-1).reshape(-1, 3)
    weights = np.einsum("i,j,k->ijk", w, w, w).ravel()
    if element.corners_per_face == 4:
        return grid, weights
    a, b, c = (0.5 * (grid + 1.0)).T  # a cube folded into a tetrahedron (Duffy 1982)
    points = np.column_stack([a, b * (1.0 - a), c * (1.0 - a) * (1.0 - b)])
    return points, weights / 8.0 * (1.0 - a) ** 2 * (1.0 - b)


def _exact(body: Body) -> tuple[float, float, float]:
    """Patch test, rigid motion, asymmetry; see Report."""
    x, outer = body.mesh.nodes, body.place < 0
    stretched = np.linalg.norm(body.assemble(x @ STRETCH.T)[1], axis=1)
    scale = stretched[outer].max()
    turn = np.linalg.qr(STRETCH + np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]))[0]
    turn *= np.sign(np.linalg.det(turn))
    rigid = np.abs(body.assemble(x @ turn.T + 1.0)[1]).max()
    rng, h = np.random.default_rng(0), 1e-6
    first, second = rng.normal(size=(2, *x.shape))
    at = x + 0.01 * rng.normal(size=x.shape)

    def work(a, b):
        difference = body.assemble(at + h * b)[1].copy() - body.assemble(at - h * b)[1]
        return float((a * difference).sum()) / (2.0 * h)

    one, other = work(first, second), work(second, first)
    size = max(abs(one), work(first, first))
    return float(stretched[~outer].max() / scale), float(rigid / scale), abs(one - other) / size


def _cube(element: Element, count: int) -> Mesh:
    """The unit cube, cells moved by a smooth map that leaves its surface flat."""
    mesh = voxel_mesh(np.ones((count,) * 3, bool), 1.0 / count, element.name)
    x, y, z = mesh.nodes.T
    wave = np.sin(np.pi * x) * np.sin(np.pi * y) * np.sin(np.pi * z)
    return Mesh(mesh.nodes + DISTORTION * wave[:, None] * [1.0, -1.0, 0.5], mesh.cells, mesh.element)


def _body(mesh: Mesh, law: str) -> Body:
    clamped = np.zeros(len(mesh.nodes), bool)
    clamped[boundary_faces(mesh)] = True
    return Body(mesh, Material(energy_named(law, YOUNG_MODULUS, POISSON_RATIO), 1.0), clamped)


def _solve(body: Body, force: np.ndarray) -> np.ndarray:
    matrix = body.new_factorisation()

    def fill():
        body.assemble(body.mesh.nodes, matrix)

    fill()
    return body.spread(matrix.factorise_and_solve(fill, body.free_values(force)))


def _dense(body: Body) -> np.ndarray:
    """The stiffness (3 n, 3 n) of a body at rest, column by column."""
    x, h = body.mesh.nodes, 1e-6
    steps = h * np.eye(x.size).reshape(-1, *x.shape)
    columns = [(body.assemble(x + step)[1].copy() - body.assemble(x - step)[1]).ravel() / (2.0 * h) for step in steps]
    return 0.5 * (np.array(columns) + np.array(columns).T)


def _at(mesh: Mesh, points: np.ndarray, weights: np.ndarray):
    """Jacobians, volumes (m, q), places (m, q, 3) and ∂N/∂X (m, q, k, 3) at reference points."""
    matrices, determinants = jacobians(mesh, points)
    places = np.einsum("qk,mki->mqi", mesh.element.values(points), mesh.nodes[mesh.cells])
    gradients = np.einsum("qkj,mqji->mqki", mesh.element.gradients(points), np.linalg.inv(matrices))
    return matrices, determinants * weights, places, gradients


def _solution(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """u (…, 3) and ∂u/∂X (…, 3, 3)."""
    s, c = np.sin(np.pi * places), np.cos(np.pi * places)
    slope = np.pi * np.stack(
        [c[..., 0] * s[..., 1] * s[..., 2], s[..., 0] * c[..., 1] * s[..., 2], s[..., 0] * s[..., 1] * c[..., 2]],
        axis=-1,
    )
    return s.prod(axis=-1)[..., None] * COEFFICIENTS, COEFFICIENTS[:, None] * slope[..., None, :]


def _body_force(places: np.ndarray) -> np.ndarray:
    """−div σ = −μ Δu − (λ + μ) ∇ div u (…, 3) [N/m³]."""
    law = energy_named("linear", YOUNG_MODULUS, POISSON_RATIO)
    s, c = np.sin(np.pi * places), np.cos(np.pi * places)
    curvature = np.empty((*places.shape[:-1], 3, 3))
    for i in range(3):
        for j in range(3):
            factors = [-s[..., k] if i == j == k else c[..., k] if k in (i, j) else s[..., k] for k in range(3)]
            curvature[..., i, j] = np.pi**2 * np.prod(factors, axis=0)
    laplacian = np.trace(curvature, axis1=-2, axis2=-1)[..., None] * COEFFICIENTS
    return -law.mu * laplacian - (law.lam + law.mu) * (curvature @ COEFFICIENTS)


def _relative(volumes: np.ndarray, difference: np.ndarray, values: np.ndarray) -> float:
    axes = tuple(range(2, values.ndim))
    squares = [(volumes * (array**2).sum(axis=axes)).sum() for array in (difference, values)]
    return float(np.sqrt(squares[0] / squares[1]))


def _draw(path: Path, reports: list[Report]) -> None:
    figure = Figure(figsize=(10.0, 4.5), layout="constrained")
    axes = figure.subplots(1, 2)
    for each in reports:
        for k in range(2):
            label = f"{each.name}: rate {each.rates[k]:.2f}"
            axes[k].loglog(each.sizes, 100.0 * each.errors[:, k], "o-", markersize=4, label=label)
    for k, what in enumerate(("displacements", "their gradients")):
        axes[k].set(title=f"error of {what}", xlabel="size of the cells / edge of the cube", ylabel="error [%]")
        axes[k].grid(alpha=0.3, which="both")
        axes[k].legend(fontsize=8)
    write_picture(path, figure, dpi=110)
