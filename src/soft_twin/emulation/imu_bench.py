"""An emulated board on the bench, before it is put into its robot: a person's calibration of its accelerometer.

All that is known of the board is what it sends. Its time passes as fast as it is computed.
"""

import math
from pathlib import Path

import numpy as np

from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.emulation.imu import EmulatedImu
from soft_twin.robots.base import DrivenRobot
from soft_twin.sensing.heater import TemperatureControl
from soft_twin.sensing.imu_calibration import CalibrationDesk
from soft_twin.sensing.imu_frames import FrameDecoder, encode_sample
from soft_twin.sensing.samples import ImuSample

PERIOD = 0.01  # [s] between two samples
EACH_POSITION = 1.5  # [s]
LEANING = math.radians(5.0)  # standard deviation of the angles by which a board that is held by hand leans
POSITIONS = np.vstack([np.eye(3), -np.eye(3)])  # what points up on the board


def calibrate_on_bench(robot: DrivenRobot, path: Path, seed: int = 0, ambient: float = 25.0) -> None:
    """Calibrate the board that `EmulatedRobot` has in the robot's base, warm and in six positions, into a new file.

    Args:
        robot: its description, with an IMU in the base.
        path: of the calibration file, which is not there yet.
        seed: of everything random, as the emulated robot has it.
        ambient: temperature of the air [°C].

    Raises:
        RecordingError: the file cannot be written.
    """
    index = next(i for i, place in enumerate(robot.imus) if place.plate is None)
    board, desk = _HeldBoard(EmulatedImu(seed=seed + index), ambient), CalibrationDesk(path)
    while board.heater.state in ("cold", "heating"):
        board.next_sample(POSITIONS[2])
    hand = np.random.default_rng(seed)
    for position in POSITIONS:
        up = position + LEANING * hand.standard_normal(3)
        up /= np.linalg.norm(up)
        for _ in range(round(EACH_POSITION / PERIOD)):
            desk.add(board.next_sample(up))
        desk.take_position()


class _HeldBoard:
    """A board that is held still, and the host's control of its heater."""

    def __init__(self, chip: EmulatedImu, ambient: float):
        self.heater = TemperatureControl()
        self._chip, self._ambient, self._decoder, self._sent = chip, ambient, FrameDecoder(), 0

    def next_sample(self, up: np.ndarray) -> ImuSample:
        """The next sample as the host receives it, while `up` (3,) of the board's frame points up."""
        time, force = self._sent * PERIOD, STANDARD_GRAVITY * up
        sample = self._chip.sample(time, np.zeros(3), force, self._ambient, self.heater.duty, PERIOD)
        [(_, received)] = self._decoder.feed(encode_sample(sample, self._sent))
        self._sent += 1
        self.heater.update(received.time, received.temperature)
        return received
