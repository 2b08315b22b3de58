"""Fibres carry tension only."""

import numpy as np
import pytest

from soft_twin.errors import MaterialError
from soft_twin.mechanics.materials.fibres import Fibres
from soft_twin.mechanics.materials.muscle import Muscle

TAUT = np.diag([1.2, 0.9, 1.1]) + 0.05 * np.random.default_rng(0).normal(size=(10, 3, 3))
SLACK = np.diag([0.8, 1.3, 1.1]) + 0.05 * np.random.default_rng(1).normal(size=(10, 3, 3))


def test_taut_fibres_are_muscles_at_rest():
    fibres, muscle = Fibres(2e5, [1.0, 0.0, 0.0]), Muscle(2e5, [1.0, 0.0, 0.0])
    for name in ("energy", "stress", "tangent", "activation_stress"):
        np.testing.assert_array_equal(getattr(fibres, name)(TAUT), getattr(muscle, name)(TAUT))


def test_slack_fibres_do_nothing():
    fibres = Fibres(2e5, [1.0, 0.0, 0.0])
    for name in ("energy", "stress", "tangent", "activation_stress"):
        assert not getattr(fibres, name)(SLACK).any()


def test_derivatives():
    fibres = Fibres(2e5, [1.0, 0.5, 0.0])
    assert max(fibres.check_derivatives(np.concatenate([TAUT, SLACK]))) < 1e-8


def test_a_thread_in_one_direction_carries_force_over_area():
    stress = Fibres(3e5, [0.0, 0.0, 2.0]).stress(np.diag([0.7, 1.4, 1.1])[None])[0]
    assert stress == pytest.approx(np.diag([0.0, 0.0, 3e4]), abs=1e-9)


def test_bad_fibres_are_called_fibres():
    with pytest.raises(MaterialError, match="fibres: stiffness -1 Pa"):
        Fibres(-1.0, np.array([0.0, 0.0, 1.0]))
