"""The sparse Cholesky against dense linear algebra, on random matrices with the blocks of random groups of nodes."""

import multiprocessing
from itertools import product

import numpy as np
import pytest
from bodies import body_of
from scipy.sparse import random as random_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

from soft_twin.errors import ConvergenceError, InputError
from soft_twin.linear_algebra.dissection import coupled_nodes, dissect, smallest_cover
from soft_twin.linear_algebra.envelope import EnvelopeCholesky, slender_order
from soft_twin.linear_algebra.sparse_cholesky import SparseCholesky, cholesky_for
from soft_twin.mechanics.materials.assembly import scatter_blocks
from soft_twin.mesh.elements import ELEMENTS
from soft_twin.mesh.generate.sweep import sweep_tube
from soft_twin.mesh.mesh import make_mesh


class Case:
    """Random symmetric positive semidefinite blocks of groups of nodes, and a diagonal that makes them definite."""

    def __init__(self, groups, unknown, seed=0):
        random = np.random.default_rng(seed)
        self.groups, self.place = groups, np.full(len(unknown), -1)
        self.place[unknown] = random.permutation(np.count_nonzero(unknown))
        self.blocks = []
        for nodes in groups:
            m, k = nodes.shape
            factors = random.normal(size=(m, 3 * k, 3 * k))
            full = factors @ factors.transpose(0, 2, 1)
            self.blocks.append(full.reshape(m, k, 3, k, 3).swapaxes(2, 3))

    def dense(self):
        n = 3 * (self.place.max() + 1)
        full = np.eye(n)
        for nodes, blocks in zip(self.groups, self.blocks, strict=True):
            for group, K in zip(self.place[nodes], blocks, strict=True):
                for a, b in product(range(len(group)), repeat=2):
                    if min(group[a], group[b]) >= 0:
                        full[3 * group[a] : 3 * group[a] + 3, 3 * group[b] : 3 * group[b] + 3] += K[a, b]
        return full

    def fill(self, matrix, diagonal=1.0):
        matrix.data[:] = 0.0
        for nodes, blocks in zip(self.groups, self.blocks, strict=True):
            for K, offsets, strides in zip(blocks, *matrix.addresses(nodes), strict=True):
                scatter_blocks(np.ascontiguousarray(K), offsets, strides, matrix.data)
        matrix.add_to_diagonal(diagonal)


def block_of_tetrahedra(n):
    """Nodes ((n + 1)³, 3) of a unit cube and its cells (6 n³, 4)."""
    nodes = np.stack(np.meshgrid(*[np.linspace(0, 1, n + 1)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    first = np.arange((n + 1) ** 3).reshape(n + 1, n + 1, n + 1)[:n, :n, :n].ravel()
    x, y, z = (n + 1) ** 2, n + 1, 1
    paths = [(0, a, a + b, x + y + z) for a, b in ((x, y), (y, z), (z, x))]
    paths += [(0, a, a + b, x + y + z) for b, a in ((x, y), (y, z), (z, x))]
    cells = np.vstack([first[:, None] + np.array(path) for path in paths])
    edges = nodes[cells[:, 1:]] - nodes[cells[:, :1]]
    cells[np.linalg.det(edges) < 0] = cells[np.linalg.det(edges) < 0][:, [0, 2, 1, 3]]
    return nodes, cells


@pytest.fixture(params=["cube", "two bodies", "groups of two sizes", "one front", "threads", "shared fronts"])
def case(request, monkeypatch):
    random = np.random.default_rng(5)
    if request.param == "one front":
        return Case([np.arange(5)[None]], np.ones(5, dtype=bool))
    nodes, cells = block_of_tetrahedra(5)
    unknown = nodes[:, 2] > 0.0
    if request.param == "two bodies":
        return Case([cells, cells + len(nodes)], np.append(unknown, unknown))
    if request.param == "groups of two sizes":
        pairs, plate = random.permutation(len(nodes))[:40].reshape(20, 2), random.permutation(len(nodes))[None, :40]
        return Case([cells, pairs, plate], unknown)
    if request.param == "shared fronts":
        for name, value in (("WORTH_SHARING", 0.0), ("WIDE", 24), ("TILE", 33)):
            monkeypatch.setattr(f"soft_twin.linear_algebra.fronts.{name}", value)
    if request.param in ("threads", "shared fronts"):
        monkeypatch.setattr("soft_twin.linear_algebra.fronts.WORTH_THREADS", 0.0)
    return Case([cells], unknown)


def test_entries_are_where_the_addresses_say(case):
    matrix = SparseCholesky(case.groups, case.place, threads=2)
    case.fill(matrix)
    np.testing.assert_allclose(matrix.diagonal, np.diag(case.dense()), rtol=1e-12)


def test_solutions_agree_with_dense_algebra(case):
    matrix = SparseCholesky(case.groups, case.place, threads=2)
    case.fill(matrix)
    matrix.factorise(lambda: case.fill(matrix))
    assert matrix.shift == 0.0
    right = np.random.default_rng(1).normal(size=(matrix.size, 7))
    exact = np.linalg.solve(case.dense(), right)
    np.testing.assert_allclose(matrix.solve(right), exact, rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(matrix.solve(right[:, 0]), exact[:, 0], rtol=1e-8, atol=1e-11)
    assert matrix.solve(np.empty((matrix.size, 0))).shape == (matrix.size, 0)


def test_the_same_matrix_can_be_filled_and_factorised_again(case):
    matrix = SparseCholesky(case.groups, case.place, threads=2)
    right = np.random.default_rng(2).normal(size=matrix.size)
    for diagonal in (1.0, 3.0):
        case.fill(matrix, diagonal)
        solution = matrix.factorise_and_solve(lambda: None, right)
        exact = np.linalg.solve(case.dense() + (diagonal - 1.0) * np.eye(matrix.size), right)
        np.testing.assert_allclose(solution, exact, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("case", ["threads"], indirect=True)
def test_a_forked_process_has_threads_of_its_own(case):
    matrix = SparseCholesky(case.groups, case.place, threads=2)
    right = np.random.default_rng(2).normal(size=matrix.size)

    def solution():
        case.fill(matrix)
        return matrix.factorise_and_solve(lambda: None, right)

    here, (end, other) = solution(), multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=lambda: other.send(solution()))
    process.start()
    try:
        assert end.poll(60.0), "the child waits for threads of its parent"
        np.testing.assert_array_equal(end.recv(), here)
    finally:
        process.kill()
        process.join()


def test_an_indefinite_matrix_is_shifted_until_it_is_positive(case):
    matrix = SparseCholesky(case.groups, case.place, threads=2)
    lowered = 1.0 - np.linalg.eigvalsh(case.dense())[-1] / 2

    case.fill(matrix, lowered)
    matrix.factorise(lambda: case.fill(matrix, lowered))
    assert matrix.shift > 0.0
    right = np.random.default_rng(3).normal(size=matrix.size)
    exact = np.linalg.solve(case.dense() + (lowered - 1.0 + matrix.shift) * np.eye(matrix.size), right)
    np.testing.assert_allclose(matrix.solve(right), exact, rtol=1e-7, atol=1e-10)


def test_a_matrix_like_the_one_before_is_shifted_as_much_with_fewer_factorisations(monkeypatch):
    nodes, cells = block_of_tetrahedra(2)
    case = Case([cells], np.arange(len(nodes)) > 0)
    matrix, tried, right = SparseCholesky(case.groups, case.place, threads=2), [], np.ones(3 * len(nodes) - 3)
    whole = SparseCholesky._try
    monkeypatch.setattr(SparseCholesky, "_try", lambda self, right: tried.append(self.shift) or whole(self, right))

    def shifted(diagonal, expected):
        tried.clear()
        case.fill(matrix, diagonal)
        matrix.factorise_and_solve(lambda: case.fill(matrix, diagonal), right, expected)
        return matrix.shift, len(tried)

    least = -np.linalg.eigvalsh(case.dense() - np.eye(matrix.size))[0]
    far, near = least - 1.0, least - 1e-3
    much, tries = shifted(far, 0.0)
    little, _ = shifted(near, 0.0)
    assert 0.0 < little < 0.02 * much
    assert shifted(far, much) == (much, 3) and tries > 3  # as it is, with the next smaller shift, with that
    once, _ = shifted(near, much)
    assert little < once < 0.2 * much  # one step less at a time
    assert shifted(near, little)[0] == little
    assert shifted(1.0, much) == (0.0, 1)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_not_finite_is_refused(case, wrong):
    matrix = SparseCholesky(case.groups, case.place, threads=2)

    def fill():
        case.fill(matrix)
        matrix.data[matrix.diagonal_indices[-1]] = wrong

    fill()
    with pytest.raises(ConvergenceError, match="not finite"):
        matrix.factorise(fill)


def test_not_a_number_beside_the_diagonal_is_refused(case):
    matrix = SparseCholesky(case.groups, case.place, threads=2)

    def fill():
        case.fill(matrix)
        offsets, strides = matrix.addresses(case.groups[0])
        inside = np.flatnonzero(offsets[:, 1] >= 0)[0]  # the block of a cell's nodes 1 and 0
        matrix.data[offsets[inside, 1]] = np.nan

    fill()
    with pytest.raises(ConvergenceError):
        matrix.factorise(fill)


def test_nodes_of_no_common_group_have_no_address():
    nodes, cells = block_of_tetrahedra(6)
    matrix = SparseCholesky([cells], np.arange(len(nodes)))
    with pytest.raises(InputError, match="none of the groups"):
        matrix.addresses(np.array([[0, len(nodes) - 1]]))


def test_halves_of_a_dissection_are_not_coupled():
    nodes, cells = block_of_tetrahedra(8)
    graph = coupled_nodes([cells], np.arange(len(nodes)))
    dissection = dissect(graph)
    assert sorted(dissection.order) == list(range(len(nodes)))
    part = np.empty(len(nodes), dtype=int)
    part[dissection.order] = np.repeat(np.arange(len(dissection.parents)), np.diff(dissection.starts))
    above = [{s} for s in range(len(dissection.parents))]
    for s in range(len(above) - 2, -1, -1):
        above[s] |= above[dissection.parents[s]]
    row, column = graph.nonzero()
    assert all(a in above[b] or b in above[a] for a, b in zip(part[row], part[column], strict=True))


def test_cover_touches_every_edge_and_is_no_larger_than_a_matching():
    """Kőnig: the smallest cover has as many nodes as the largest matching has edges."""
    random = np.random.default_rng(6)
    for _ in range(20):
        edges = random_matrix(30, 25, density=0.06, random_state=random, format="csr")
        rows, columns = smallest_cover(edges)
        row, column = edges.nonzero()
        assert (rows[row] | columns[column]).all()
        assert rows.sum() + columns.sum() == (maximum_bipartite_matching(edges) >= 0).sum()


def test_fill_in_of_a_cube_grows_no_faster_than_theory():
    """Nested dissection of n nodes in three dimensions takes O(n²) operations (George 1973; Lipton et al. 1979)."""
    operations = []
    for n in (8, 16):
        nodes, cells = block_of_tetrahedra(n)
        operations.append(SparseCholesky([cells], np.arange(len(nodes))).operations / len(nodes) ** 2)
    assert operations[1] < 1.5 * operations[0]


def test_a_slender_body_gets_an_envelope_and_a_compact_one_fronts():
    tube = sweep_tube(0.2, 1.0, 8.0, (1, 6, 20))
    assert isinstance(
        cholesky_for([tube.cells], slender_order([tube.cells], tube.nodes[:, 2] > 0, tube.nodes)), EnvelopeCholesky
    )
    nodes, cells = block_of_tetrahedra(14)
    matrix = cholesky_for([cells], slender_order([cells], nodes[:, 2] > 0, nodes))
    assert isinstance(matrix, SparseCholesky)


def test_a_large_slender_body_gets_fronts(monkeypatch):
    tube = sweep_tube(0.2, 1.0, 8.0, (1, 6, 20))
    place = slender_order([tube.cells], tube.nodes[:, 2] > 0, tube.nodes)
    monkeypatch.setattr("soft_twin.linear_algebra.sparse_cholesky.WORTH_DISSECTING", 0.0)
    assert isinstance(cholesky_for([tube.cells], place), EnvelopeCholesky)
    monkeypatch.setattr("soft_twin.linear_algebra.sparse_cholesky.LARGE", 0.0)
    assert isinstance(cholesky_for([tube.cells], place), SparseCholesky)


def test_stiffness_of_a_body_is_solved_as_in_an_envelope():
    nodes, cells = block_of_tetrahedra(6)
    body = body_of(make_mesh(nodes, cells, ELEMENTS["tet4"]))
    right = np.random.default_rng(4).normal(size=(body.degrees_of_freedom, 2))
    solutions = []
    for kind in (EnvelopeCholesky, SparseCholesky):
        matrix = kind([cells], body.place)
        body._targets = []
        body.assemble(nodes, matrix)
        solutions.append(matrix.factorise_and_solve(lambda: None, right))
    np.testing.assert_allclose(solutions[1], solutions[0], rtol=1e-8, atol=1e-10 * np.abs(solutions[0]).max())
