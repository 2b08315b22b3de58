from dataclasses import replace

import numpy as np
import pytest

from soft_twin.errors import InputError
from soft_twin.twins.tensegrity.calibration import OFFSETS, calibrate_straight, with_offsets
from soft_twin.twins.tensegrity.forward import ForwardModel
from soft_twin.twins.tensegrity.mismatch import mismatched
from soft_twin.twins.tensegrity.shape import mean_node_error


def test_straight_pose_improves_the_prediction_of_bends(arm, cases, straight_pressures):
    true = mismatched(arm.model, arm.emulated, seed=0)
    seen = ForwardModel(true).equilibrium(straight_pressures)
    calibration = calibrate_straight(arm.model, seen.inclinations, straight_pressures, seen.length())
    case = cases["bend 60°"]
    truth = ForwardModel(true).equilibrium(case.pressures)
    before, after = (
        mean_node_error(ForwardModel(model).equilibrium(case.pressures), truth)
        for model in (arm.model, calibration.model)
    )
    assert after < 0.5 * before
    assert calibration.inclination_error[1] < calibration.inclination_error[0]
    assert calibration.length_error[1] < 0.2e-3


def test_a_matching_arm_needs_no_offsets(arm, straight, straight_pressures):
    calibration = calibrate_straight(arm.model, straight.inclinations, straight_pressures, straight.length())
    deviations = np.array([offset.deviation for offset in OFFSETS])
    assert np.abs(np.array(list(calibration.offsets.values())) / deviations).max() < 0.01


def test_offsets_change_the_laws_they_name(arm):
    laws = with_offsets(arm.model, np.array([0.001, 0.0, 0.0, 0.3, 0.0]))
    active = arm.structure.active
    assert laws.rest_lengths[~active] - arm.model.laws.rest_lengths[~active] == pytest.approx(np.full(40, 0.001))
    assert laws.stiffness[active] == pytest.approx(np.full(40, 1300.0))
    assert replace(laws, stiffness=arm.model.laws.stiffness).areas == pytest.approx(arm.model.laws.areas)


@pytest.mark.parametrize("length", [0.0, 30.0, np.nan])
def test_implausible_length_is_refused(arm, straight, straight_pressures, length):
    with pytest.raises(InputError, match="length"):
        calibrate_straight(arm.model, straight.inclinations, straight_pressures, length)


def test_a_bent_pose_is_not_taken_for_a_straight_one(arm, straight, straight_pressures, cases):
    bent = arm.forward(cases["bend 30°"].pressures)
    with pytest.raises(InputError, match="is the arm straight, unloaded"):
        calibrate_straight(arm.model, bent.inclinations, straight_pressures, straight.length())
