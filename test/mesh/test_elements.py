"""Shape functions and quadrature against their defining properties."""

import numpy as np
import pytest

from soft_twin.errors import UsageError
from soft_twin.mesh.elements import ELEMENTS, element_named

VOLUME = {"tet4": 1 / 6, "tet10": 1 / 6, "hex8": 8.0, "hex8f": 8.0, "hex20": 8.0, "hex20r": 8.0}


@pytest.fixture(params=ELEMENTS)
def element(request):
    return ELEMENTS[request.param]


def points_inside(element, count=20):
    rng = np.random.default_rng(0)
    return rng.dirichlet(np.ones(len(element.nodes)), count) @ element.nodes


def test_values_are_one_at_their_node_and_zero_at_the_others(element):
    np.testing.assert_allclose(element.values(element.nodes), np.eye(len(element.nodes)), atol=1e-14)


def test_values_sum_to_one_and_reproduce_positions(element):
    points = points_inside(element)
    np.testing.assert_allclose(element.values(points).sum(axis=1), 1.0)
    np.testing.assert_allclose(element.values(points) @ element.nodes, points, atol=1e-14)


def test_gradients_are_the_derivatives_of_the_values(element):
    points, h = points_inside(element), 1e-6
    for axis in range(3):
        step = h * np.eye(3)[axis]
        numeric = (element.values(points + step) - element.values(points - step)) / (2 * h)
        np.testing.assert_allclose(element.gradients(points)[:, :, axis], numeric, atol=1e-9)


def test_quadrature_integrates_linear_fields_exactly(element):
    assert element.weights.sum() == pytest.approx(VOLUME[element.name])
    centre = element.weights @ element.points / element.weights.sum()
    expected = np.full(3, 0.25) if element.name.startswith("tet") else np.zeros(3)
    np.testing.assert_allclose(centre, expected, atol=1e-14)


def test_faces_look_outward(element):
    middle = element.nodes.mean(axis=0)
    for face in element.faces:
        a, b, c = element.nodes[list(face[:3])]
        assert np.cross(b - a, c - a) @ (a - middle) > 0


def test_an_unknown_element_is_named_with_those_there_are():
    with pytest.raises(UsageError, match="no element 'wedge6'.*hex20r"):
        element_named("wedge6")
