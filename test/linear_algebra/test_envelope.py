"""The envelope Cholesky against dense linear algebra."""

import numpy as np
import pytest
from bodies import body_of, dense, distorted_block

from soft_twin.errors import ConvergenceError, InputError
from soft_twin.linear_algebra.envelope import EnvelopeCholesky, envelope_operations, slender_order
from soft_twin.linear_algebra.sparse_cholesky import SparseCholesky
from soft_twin.mesh.generate.sweep import sweep_tube
from soft_twin.mesh.generate.voxels import voxel_mesh


@pytest.fixture(params=["hex8", "tet10", "swept"])
def body(request):
    if request.param == "swept":
        return body_of(sweep_tube(0.2, 1.0, 8.0, (1, 6, 9)))
    return body_of(distorted_block(request.param))


def test_solution_agrees_with_dense_algebra(body):
    matrix = body.new_factorisation()
    body.assemble(body.mesh.nodes, matrix)
    full = dense(matrix)
    right = np.random.default_rng(0).normal(size=(body.degrees_of_freedom, 7))
    matrix.factorise(lambda: body.assemble(body.mesh.nodes, matrix))
    assert matrix.shift == 0.0
    np.testing.assert_allclose(matrix.solve(right), np.linalg.solve(full, right), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(matrix.solve(right[:, 0]), np.linalg.solve(full, right[:, 0]), rtol=1e-8, atol=1e-12)


def test_one_right_hand_side_is_substituted_as_several_are(body):
    """The sizes leave a group of less than eight columns at the end, and whole ones."""
    matrix = body.new_factorisation()
    body.assemble(body.mesh.nodes, matrix)
    matrix.factorise(lambda: body.assemble(body.mesh.nodes, matrix))
    right = np.random.default_rng(1).normal(size=(matrix.size, 2))
    both = matrix.solve(right)
    np.testing.assert_allclose(matrix.solve(right[:, 1]), both[:, 1], rtol=0.0, atol=1e-11 * np.abs(both).max())


def test_an_indefinite_matrix_is_shifted_until_it_is_positive(body):
    matrix = body.new_factorisation()

    def assemble():
        body.assemble(body.mesh.nodes, matrix)
        matrix.add_to_diagonal(-0.5 * np.abs(matrix.diagonal).mean())

    assemble()
    full = dense(matrix)
    matrix.factorise(assemble)
    assert matrix.shift > 0.0
    shifted = full + matrix.shift * np.eye(len(full))
    right = np.ones(len(full))
    np.testing.assert_allclose(shifted @ matrix.solve(right), right, rtol=1e-6)


def test_a_matrix_that_is_not_finite_is_an_error(body):
    matrix = body.new_factorisation()
    with pytest.raises(ConvergenceError, match="not finite"):
        matrix.factorise(lambda: matrix.data.fill(np.nan))


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 0, 1)], ids=["along z", "along y"])
def test_a_regular_mesh_is_ordered_layer_by_layer(axes):
    """A layer of hex20 has (n + 1)² corners and 2 n (n + 1) middles of edges, and (n + 1)² middles up to the next one:
    no envelope need be much higher than one layer with a row of cells."""
    n, layers = 5, 8
    mesh = voxel_mesh(np.ones((n, n, layers), dtype=bool), 0.01, "hex20r")
    points = mesh.nodes[:, axes]
    free = points[:, list(axes).index(2)] > 0.0
    height = 3.0 * (2 * (n + 1) ** 2 + 2 * n * (n + 1) + 5 * (n + 1))
    operations = envelope_operations([mesh.cells], slender_order([mesh.cells], free, points))
    assert operations < 3.0 * np.count_nonzero(free) * height**2


@pytest.mark.parametrize("kind", [EnvelopeCholesky, SparseCholesky])
@pytest.mark.parametrize(
    ("nodes", "cause"), [([[0, 19]], "coupled in none"), ([[3, 20]], "made for 20 nodes"), ([[-1, 3]], "made for 20")]
)
def test_blocks_that_a_matrix_has_no_room_for_are_refused(kind, nodes, cause):
    chain = np.column_stack([np.arange(19), np.arange(1, 20)])
    matrix = kind([chain], np.arange(20))
    matrix.addresses(chain)
    with pytest.raises(InputError, match=cause):
        matrix.addresses(np.array(nodes))
