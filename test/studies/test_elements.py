"""The validation of elements: what it measures is as it should be, and it sees what is wrong."""

import pytest

from soft_twin.mesh.elements import ELEMENTS, Hex8
from soft_twin.studies.elements import fine_rule, report, table, zero_modes

ORDERS = {"tet4": 1, "tet10": 2, "hex8": 1, "hex8f": 1, "hex20": 2, "hex20r": 2}


@pytest.mark.parametrize("name", ["tet4", "hex8f", "hex20r"])
def test_elements_pass_and_converge_as_their_order_says(name):
    result = report(ELEMENTS[name])
    assert max(result.patch, result.rigid) < 1e-11
    assert result.asymmetry < 1e-9
    assert result.rates[0] > ORDERS[name] + 0.8
    assert result.rates[1] > ORDERS[name] - 0.15
    assert name in table([result])


def test_only_reduced_quadrature_has_modes_beyond_the_rigid_ones():
    modes = {name: zero_modes(element) for name, element in ELEMENTS.items()}
    assert modes == {"tet4": 6, "tet10": 6, "hex8": 6, "hex8f": 6, "hex20": 6, "hex20r": 12}


@pytest.mark.parametrize("name", ELEMENTS)
def test_the_fine_rule_integrates_powers(name):
    points, weights = fine_rule(ELEMENTS[name])
    x = points[:, 0]
    assert weights @ x**4 == pytest.approx(1 / 210 if name.startswith("tet") else 8 / 5)


def test_an_element_with_wrong_gradients_fails_the_patch_test(monkeypatch):
    class Wrong(Hex8):
        def gradients(self, points):
            return super().gradients(points) * (1.0 + 0.05 * points[:, :1, None])

    monkeypatch.setitem(ELEMENTS, "hex8", Wrong())
    assert report(ELEMENTS["hex8"]).patch > 1e-3
