"""A factor in single precision whose solutions are refined: as exact as one in double precision."""

import numpy as np
import pytest
from bodies import body_of, dense
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import spsolve
from test_sparse_cholesky import block_of_tetrahedra

from soft_twin.errors import ConvergenceError
from soft_twin.linear_algebra import sparse_cholesky
from soft_twin.linear_algebra.envelope import EnvelopeCholesky
from soft_twin.linear_algebra.iterative_refinement import refine
from soft_twin.linear_algebra.sparse_cholesky import PAUSE, SparseCholesky
from soft_twin.mechanics.actuators.cables import CableActuators
from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.cables import Cables
from soft_twin.mechanics.loads.loads import Gravity
from soft_twin.mechanics.materials import energy_named
from soft_twin.mechanics.model import Model
from soft_twin.mesh.elements import ELEMENTS
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.mesh.mesh import make_mesh
from soft_twin.solvers.derivatives.derivatives import sensitivities
from soft_twin.solvers.derivatives.parameters import Elastic
from soft_twin.solvers.equilibrium import equilibrium
from soft_twin.twins.finite_element import FemTwin


def cube(poisson_ratio=0.45, n=8):
    nodes, cells = block_of_tetrahedra(n)
    return body_of(make_mesh(nodes, cells, ELEMENTS["tet4"]), poisson_ratio=poisson_ratio)


def bar():
    return body_of(voxel_mesh(np.ones((2, 2, 40), dtype=bool), 1.0, "tet4"), poisson_ratio=0.499)


def layers(ratio):
    """A cube of four layers, soft and stiff in turns."""
    nodes, cells = block_of_tetrahedra(8)
    stiff = nodes[cells][:, :, 2].mean(axis=1) % 0.5 > 0.25
    materials = [
        Material(energy_named("corotational", modulus, 0.45), 1e3, np.flatnonzero(chosen))
        for modulus, chosen in ((1e3, ~stiff), (1e3 * ratio, stiff))
    ]
    return Body(make_mesh(nodes, cells, ELEMENTS["tet4"]), materials, nodes[:, 2] == 0.0)


def stiffness(body):
    """The matrix (n, n) of the body at rest, through an envelope."""
    matrix = EnvelopeCholesky([body.mesh.cells], body.place)
    body._targets = []
    body.assemble(body.mesh.nodes, matrix)
    return dense(matrix)


def fronts(body, single, shift=0.0):
    """The same in fronts, with something added to its diagonal, and what fills it again."""
    matrix = SparseCholesky([body.mesh.cells], body.place, threads=2, single=single)
    body._targets = []

    def assemble():
        body.assemble(body.mesh.nodes, matrix)
        matrix.add_to_diagonal(shift)

    assemble()
    return matrix, assemble


def right_hand_sides(body):
    """(size, 8): weight along each axis, four random ones, and one that is zero."""
    size = body.degrees_of_freedom
    weights = body.free_values(np.multiply.outer(body.node_masses, np.eye(3)))
    return np.hstack([weights, np.random.default_rng(0).normal(size=(size, 4)), np.zeros((size, 1))])


def largest_difference(found, exact):
    """Of the columns of two arrays (n, c), over the size of the second's."""
    sizes = np.abs(exact).max(axis=0)
    return (np.abs(found - exact).max(axis=0) / np.where(sizes > 0, sizes, 1.0)).max()


@pytest.mark.parametrize(
    ("body", "error"),
    [(cube(), 1e-12), (cube(0.499), 1e-11), (bar(), 1e-9), (layers(1e2), 1e-11), (layers(1e4), 1e-9)],
    ids=["cube", "nearly incompressible", "slender", "mixed 1e2", "mixed 1e4"],
)
def test_solutions_are_as_exact_as_in_double_precision(body, error):
    matrix, assemble = fronts(body, single=True)
    right = right_hand_sides(body)
    exact = spsolve(csc_matrix(stiffness(body)), right)
    assert largest_difference(matrix.factorise_and_solve(assemble, right), exact) < error
    assert largest_difference(matrix.solve(right[:, :2]), exact[:, :2]) < error
    np.testing.assert_allclose(matrix.solve(right[:, 3]), exact[:, 3], atol=error * np.abs(exact[:, 3]).max())
    assert matrix.solve(right[:, :0]).shape == (matrix.size, 0)
    assert matrix.fallbacks == 0


def test_the_factor_takes_half_the_memory():
    sizes = []
    for single in (True, False):
        matrix, assemble = fronts(cube(), single)
        matrix.factorise(assemble)
        sizes.append(matrix.nbytes - matrix.data.nbytes)
    assert 2 * sizes[0] == sizes[1]


def test_solutions_are_those_of_the_matrix_that_was_factorised():
    """What is written into the matrix afterwards does not count before it is factorised."""
    body = cube()
    matrix, assemble = fronts(body, single=True)
    right = right_hand_sides(body)
    before = matrix.factorise_and_solve(assemble, right)
    matrix.data *= 4.0  # without rounding
    assert largest_difference(matrix.solve(right), before) < 1e-13
    assert largest_difference(matrix.factorise_and_solve(assemble, right), before / 4.0) < 1e-13


@pytest.mark.parametrize("depth", [1e-1, 1e-4, 1e-9, 1e-11])
def test_an_indefinite_matrix_gets_the_same_shift_as_in_double_precision(depth):
    """One eigenvalue is below zero, by a part of the largest that may be far less than single precision resolves."""
    body = cube(n=5)
    values = np.linalg.eigvalsh(stiffness(body))
    shift = -values[0] - depth * values[-1]
    shifts = []
    for single in (True, False):
        matrix, assemble = fronts(body, single, shift)
        matrix.factorise(assemble)
        shifts.append(matrix.shift)
    assert shifts[0] == shifts[1] > 0.0


@pytest.mark.parametrize("height", [1e-6, 1e-9])
def test_a_matrix_that_is_barely_definite_is_not_shifted(height):
    body = cube(n=5)
    values = np.linalg.eigvalsh(stiffness(body))
    shift = -values[0] + height * values[-1]
    right = right_hand_sides(body)
    exact = np.linalg.solve(stiffness(body) + shift * np.eye(len(right)), right)
    matrix, assemble = fronts(body, True, shift)
    found = matrix.factorise_and_solve(assemble, right)
    assert matrix.shift == 0.0
    assert largest_difference(found, exact) < 1e-14 / height


def test_what_single_precision_cannot_factorise_is_left_to_double_precision():
    """And so are the next few matrices; then single precision is tried again."""
    body = layers(1e8)
    matrix, assemble = fronts(body, single=True)
    right = right_hand_sides(body)
    found = matrix.factorise_and_solve(assemble, right)
    double, fill = fronts(body, single=False)
    np.testing.assert_array_equal(found, double.factorise_and_solve(fill, right))
    assert (matrix.fallbacks, matrix.shift) == (1, 0.0)
    for fallbacks in [1] * PAUSE + [2]:
        assemble()
        matrix.factorise(assemble)
        assert matrix.fallbacks == fallbacks


def test_a_right_hand_side_that_is_not_refined_in_time_is_solved_in_double_precision(monkeypatch):
    body = cube()
    matrix, assemble = fronts(body, single=True)
    matrix.factorise(assemble)
    monkeypatch.setattr(sparse_cholesky, "LIMIT", 1)
    right = right_hand_sides(body)
    double, fill = fronts(body, single=False)
    np.testing.assert_array_equal(matrix.solve(right), double.factorise_and_solve(fill, right))
    assert matrix.fallbacks == 1


def test_not_a_number_is_refused():
    matrix, _ = fronts(cube(), single=True)
    matrix.data[10] = np.nan
    with pytest.raises(ConvergenceError, match="not finite"):
        matrix.factorise(lambda: None)


def test_refinement_notices_negative_curvature():
    values = np.array([-1.0, 2.0, 3.0])
    solved = refine(lambda x: values * x, lambda r: r, np.ones((1, 3)), np.array([1e-12]), 0.0, 10)
    assert solved is None
    solved = refine(lambda x: -values * x, lambda r: r, np.array([[1.0, 0.0, 0.0]]), np.array([1e-12]), 0.0, 10)
    np.testing.assert_allclose(solved, [[1.0, 0.0, 0.0]])


def in_both(monkeypatch, compute):
    """What `compute` gives where all bodies are factorised in fronts, in single and in double precision."""
    monkeypatch.setattr(sparse_cholesky, "WORTH_DISSECTING", 0.0)
    monkeypatch.setattr(sparse_cholesky, "WORTH_FRONTS", np.inf)
    for worth in (0.0, np.inf):
        monkeypatch.setattr(sparse_cholesky, "WORTH_REFINING", worth)
        yield compute()


def test_equilibria_and_sensitivities_are_those_of_double_precision(monkeypatch):
    def solve():
        model = Model(cube(), [Gravity((0.0, 0.1, -0.15))])
        solved = equilibrium(model)
        by_modulus = sensitivities(model, solved, [Elastic(model.body.parts[0].material, "young_modulus")])
        return solved.iterations, solved.pose.points - model.rest.points, by_modulus, model.unknowns.matrix

    (steps, moved, by_modulus, matrix), (exact_steps, exact_moved, exact_by_modulus, double) = in_both(
        monkeypatch, solve
    )
    assert (matrix.single, matrix.fallbacks, double.single) == (True, 0, False)
    assert steps == exact_steps
    np.testing.assert_allclose(moved, exact_moved, atol=1e-11 * np.abs(exact_moved).max())
    np.testing.assert_allclose(by_modulus, exact_by_modulus, atol=1e-10 * np.abs(exact_by_modulus).max())


def test_a_kept_factorisation_serves_the_next_ticks(monkeypatch):
    def follow():
        body = cube()
        cables = Cables(
            body.mesh, np.array([[0.5, 0.9, 0.0], [0.5, 0.1, 0.0]]), np.array([[0.5, 0.9, 1.0], [0.5, 0.1, 1.0]])
        )
        twin, drifts = FemTwin(Model(body, [Gravity()], actuators=[CableActuators(cables, 1e4)]), 1.0), []
        for tick in range(4):
            step = twin.relinearise(np.array([0.0, 0.01 * tick, -0.1]))
            twin.advance(step, np.array([0.1, 0.2]), 0.1)
            drifts.append(step.free_step)
        assert twin._chord.used
        return np.array(drifts)

    found, exact = in_both(monkeypatch, follow)
    np.testing.assert_allclose(found, exact, atol=1e-11 * np.abs(exact).max())
