"""The membrane's warp to reality: see `prediction.py`."""

from pathlib import Path

from soft_twin.studies.learning.prediction import SEEDS, predict

ROBOT = "membrane"


def run(
    folder: Path, data: Path, robot: str = ROBOT, simulations: int | None = None, seed: int = 0, seeds: int = SEEDS
) -> str:
    """Simulate, scan, train, compare; `data` is not used."""
    return predict(robot, folder, simulations, seed, seeds)
