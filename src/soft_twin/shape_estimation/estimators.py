"""The estimators there are, by name."""

from soft_twin.shape_estimation.estimator import EnergyEstimator
from soft_twin.shape_estimation.tip_force import TipForceEstimator
from soft_twin.shape_estimation.zero_length import ZeroLengthEstimator

ESTIMATORS = {
    "energy": EnergyEstimator,
    "energy_tip_force": TipForceEstimator,
    "zero_length": ZeroLengthEstimator,
}
