"""Known parameters are found again from what a model with them does."""

import numpy as np
import pytest

from soft_twin.calibration.experiments import Hanging, Released
from soft_twin.calibration.identify import CANTILEVER, by_gradients, by_search
from soft_twin.calibration.markers import Markers
from soft_twin.errors import ConvergenceError, InputError
from soft_twin.solvers.derivatives.parameters import Attribute
from soft_twin.solvers.time.integrators import CrankNicolson
from soft_twin.studies.beam import MARKERS, beam_mesh, beam_model, material_parameters

TRUTH = {"young_modulus": 263e3, "poisson_ratio": 0.45, "density": 1070.0, "mass_damping": 9.0}
START = {"young_modulus": 150e3, "poisson_ratio": 0.35, "density": 1200.0, "mass_damping": 3.0}
SIDES = np.array([[-0.05, 0.0, 0.015], [-0.02, 0.03, 0.015], [-0.07, 0.015, 0.03]])


def experiments(cells=(4, 2, 2)):
    """Two loads at rest, and what is measured there with TRUTH."""
    result = []
    for load in (0.0, 0.5):
        model = beam_model(load, beam_mesh(cells))
        markers = Markers(model.body.mesh, np.vstack([MARKERS[:3], SIDES]))
        each = Hanging(model, markers, markers.rest[None], material_parameters(model))
        each.set(TRUTH)
        each.measured = each.positions()
        result.append(each)
    return result


def released():
    model = beam_model(0.5, beam_mesh((4, 2, 2)))
    markers = Markers(model.body.mesh, MARKERS[:3])
    integrator = CrankNicolson(model, 0.01, mass_damping=1.0)
    parameters = material_parameters(model) | {"mass_damping": Attribute(integrator, "mass_damping")}
    each = Released(integrator, markers, np.zeros((12, 3, 3)), parameters)
    each.set(TRUTH)
    each.measured = each.positions()
    return each


def domains(*names):
    return {name: CANTILEVER[name] for name in names}


@pytest.mark.parametrize("names", [("young_modulus", "poisson_ratio"), ("young_modulus", "density")])
def test_two_parameters_are_found_again_from_equilibria(names):
    recorded = experiments()
    for each in recorded:
        each.set(START | {name: TRUTH[name] for name in TRUTH if name not in names})
    found = by_gradients(recorded, START, domains(*names))
    for name in names:
        assert found.values[name] == pytest.approx(TRUTH[name], rel=1e-4)
    assert found.simulations <= 30
    assert found.error < 1e-7 and found.chamfer < 1e-7
    assert found.simulations == found.gradients == found.history[-1, 0]
    assert np.all(np.diff(found.history[:, 1]) <= 0.0)


def test_a_motion_tells_damping_and_density_apart():
    recorded = released()
    found = by_gradients([recorded], START, domains("density", "mass_damping"), iterations=20)
    assert found.values["mass_damping"] == pytest.approx(TRUTH["mass_damping"], rel=2e-2)
    assert found.values["density"] == pytest.approx(TRUTH["density"], rel=2e-2)


@pytest.mark.parametrize("make", [lambda: experiments()[1], released])
def test_gradients_of_the_loss_are_those_of_finite_differences(make):
    each = make()
    each.set(START)
    names = [name for name in START if name in each.parameters] + ["unknown"]
    _, exact = each.loss_and_gradient(names)
    for name, slope in zip(names[:-1], exact, strict=False):
        losses = []
        for share in (-1e-4, 1e-4):
            each.set({name: START[name] * (1.0 + share)})
            losses.append(((each.positions() - each.measured) ** 2).sum(axis=2).mean())
        each.set(START)
        assert slope == pytest.approx((losses[1] - losses[0]) / (2e-4 * START[name]), rel=1e-4)
    assert exact[-1] == 0.0


def test_a_search_comes_near():
    pytest.importorskip("optuna")
    recorded = experiments((3, 2, 2))[1:]
    found = by_search(recorded, domains("young_modulus"), 12, START)
    assert found.values["young_modulus"] == pytest.approx(TRUTH["young_modulus"], rel=0.2)
    assert found.simulations == 12 and found.gradients == 0


def test_what_makes_no_sense_is_refused():
    recorded = experiments((2, 2, 2))[:1]
    with pytest.raises(InputError, match="domain of density: 3…1"):
        by_gradients(recorded, START, {"density": (3.0, 1.0)})
    with pytest.raises(InputError, match="domain of density: 1…inf is not positive, finite and in order"):
        by_search(recorded, {"density": (1.0, np.inf)}, 1)
    with pytest.raises(InputError, match="iterations: 0: expected 1 or more"):
        by_gradients(recorded, START, domains("density"), iterations=0)
    with pytest.raises(InputError, match="trials: -1: expected 1 or more"):
        by_search(recorded, domains("density"), -1)
    with pytest.raises(InputError, match="start of density: 1200.0 is not within"):
        by_gradients(recorded, START, {"density": (1.0, 2.0)})
    with pytest.raises(InputError, match="no parameter youngs: there are .*young_modulus"):
        by_gradients(recorded, {"youngs": 1.5}, {"youngs": (1.0, 2.0)})
    with pytest.raises(InputError, match="no parameter youngs"):
        by_search(recorded, {"youngs": (1.0, 2.0)}, 1)
    with pytest.raises(InputError, match="start of density: None is not within"):
        by_gradients(recorded, {}, {"density": (1.0, 2.0)})
    with pytest.raises(InputError, match="measured markers"):
        Hanging(recorded[0].model, recorded[0].markers, np.zeros((1, 2, 3)), {})


def test_a_search_in_which_nothing_can_be_simulated_says_so(monkeypatch):
    pytest.importorskip("optuna")

    def broken(self, logarithms):
        raise ConvergenceError("no minimum", ())

    monkeypatch.setattr("soft_twin.calibration.identify._Search.loss", broken)
    with pytest.raises(ConvergenceError, match="none of 3 trials within these domains could be simulated"):
        by_search(experiments((2, 2, 2))[:1], domains("young_modulus"), 3, START)
