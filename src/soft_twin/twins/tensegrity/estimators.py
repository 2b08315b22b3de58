"""The estimators there are, by name."""

from soft_twin.twins.tensegrity.estimator import EnergyEstimator
from soft_twin.twins.tensegrity.tip_force import TipForceEstimator
from soft_twin.twins.tensegrity.zero_length import ZeroLengthEstimator

ESTIMATORS = {
    "energy": EnergyEstimator,
    "energy_tip_force": TipForceEstimator,
    "zero_length": ZeroLengthEstimator,
}
