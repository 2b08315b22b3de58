"""The bellows manipulator's warp to reality: see `prediction.py`."""

from pathlib import Path

from soft_twin.studies.learning.prediction import predict

ROBOT = "bellows"


def run(folder: Path, data: Path) -> str:
    """Simulate, scan, train, compare; `data` is not used."""
    return predict(ROBOT, folder)
