"""`soft-twin run ROBOT --scans N`: the emulated robot's chambers stand at pressures before an emulated scanner and
motion capture: the recording is what `soft-twin train` reads."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from soft_twin.errors import UsageError
from soft_twin.learning.recorded_frames import write_frames
from soft_twin.learning.simulations import pressure_limits
from soft_twin.robots.fem_robot import FemRobot

if TYPE_CHECKING:
    from soft_twin_ros.running.stands import Stands

STAND = 10.0  # [s] at each of the pressures: a scanner looks every two seconds or more


def stands_of(robot: FemRobot, count: int) -> "Stands":
    """No pressure, then so many at random, always the same.

    Raises:
        UsageError: none, or fewer.
    """
    from soft_twin_ros.running.graph import solver_of
    from soft_twin_ros.running.stands import Stands

    if count < 1:
        raise UsageError(f"--scans {count}: expected 1 or more")
    limits = pressure_limits(robot)
    random = np.random.default_rng(0).uniform(*limits.T, (count, len(limits)))
    pressures = np.vstack([np.clip(np.zeros((1, len(limits))), *limits.T), random]).round(1)
    return Stands({}, list(robot.chamber_names), pressures.tolist(), STAND, solver_of(robot))


def told_frames(robot: FemRobot, recording: Path, folder: Path) -> str:
    """How many frames a recording has, which are written into a folder, and what makes weights of them.

    Raises:
        RecordingError: nothing was seen.
        UsageError: the folder cannot be written.
    """
    written = write_frames(recording, folder / "frames", list(robot.chamber_names), pressure_limits(robot))
    train = ["soft-twin", "train", robot.path, "--data", recording, "--out", f"{robot.name}.safetensors"]
    return f"{written.frames} frames: {folder / 'frames'}\n{shlex.join(map(str, train))}"
