"""The estimators there are, by name."""

from soft_twin.twin.tensegrity.estimator import EnergyEstimator

ESTIMATORS = {
    "energy": EnergyEstimator,
}
