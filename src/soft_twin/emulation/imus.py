"""The IMUs of an emulated robot, in its base and on its plates, each on a board of its own.

A body is computed less often than IMUs measure, and on a busy host it loses time. What the board on a plate feels
follows the plate with a lag: it turns from one sample to the next by what its gyroscope says, whenever the body moves.
"""

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from soft_twin.descriptions.drives import ImuPlace
from soft_twin.emulation.base_motion import BaseMotion, RecordedMotion
from soft_twin.emulation.imu import EmulatedImu, perfect_imu
from soft_twin.emulation.imu_board import EmulatedImuBoard
from soft_twin.emulation.plant import Plates
from soft_twin.robots.base import DrivenRobot

PLATE_LAG = 0.03  # [s] with which a board on a plate follows the plate's turning


class FeltMotion:
    """What the boards of a robot's IMUs feel, without their errors.

    Attributes:
        places: of the IMUs.
    """

    def __init__(self, robot: DrivenRobot, motion: BaseMotion, period: float):
        """`period`: between two samples [s]."""
        self.places = list(robot.imus)
        self._motion, self._period, self._plates = motion, period, robot.plate_names
        self._turned: np.ndarray | None = None  # (p, 3, 3) how the plates are turned, as their boards feel it

    def at(self, t: float, plates: Plates, stands_still: bool = False) -> list[tuple[np.ndarray, np.ndarray]]:
        """(3,) turning rate [rad/s] and specific force [m/s²] in the frame of each board at the next sample, t [s] on
        the motion's clock."""
        if any(place.plate is not None for place in self.places):
            plates = self._followed(plates, 0.0 if stands_still else 1.0)
        felt = [self._felt(place, t, plates) for place in self.places]
        return [(np.zeros(3) if stands_still else rate, force) for rate, force in felt]

    def _followed(self, plates: Plates, turning: float) -> Plates:
        """The plates as their boards feel them; `turning` 0: time stands still."""
        if self._turned is None:
            self._turned = plates.rotations
        share = -np.expm1(-self._period / PLATE_LAG) * turning
        turns = share * Rotation.from_matrix(plates.rotations @ self._turned.swapaxes(1, 2)).as_rotvec()
        self._turned = Rotation.from_rotvec(turns).as_matrix() @ self._turned
        return replace(plates, rotations=self._turned, rates=turns / self._period)

    def _felt(self, place: ImuPlace, t: float, plates: Plates) -> tuple[np.ndarray, np.ndarray]:
        if place.plate is not None:
            return self._on_plate(self._plates.index(place.plate), place.mounting, t, plates)
        if isinstance(self._motion, RecordedMotion):
            return self._motion.imu(t)
        motion = self._motion
        return place.mounting.T @ motion.angular_velocity(t), place.mounting.T @ motion.specific_force(t)

    def _on_plate(self, index: int, mounting: np.ndarray, t: float, plates: Plates) -> tuple[np.ndarray, np.ndarray]:
        """That of a board in the middle of a plate, which moves relative to the base."""
        rate, acceleration = self._motion.angular_velocity(t), self._motion.angular_acceleration(t)
        arm, velocity = plates.centres[index], plates.velocities[index]
        carried = np.cross(acceleration, arm) + np.cross(rate, np.cross(rate, arm) + 2.0 * velocity)
        force = self._motion.specific_force(t) + carried + plates.accelerations[index]
        turned = (plates.rotations[index] @ mounting).T
        return turned @ (rate + plates.rates[index]), turned @ force


class RobotImus:
    """See the module's docstring.

    Attributes:
        paths: serial port of each board, by the IMU's name.
    """

    def __init__(self, robot: DrivenRobot, motion: BaseMotion, period: float, seed: int, ambient: float):
        """`period`: between two samples [s]. `ambient`: temperature of the air [°C]."""
        self._felt, self._motion, self._period = FeltMotion(robot, motion, period), motion, period
        self._places = self._felt.places
        self._boards = [
            EmulatedImuBoard(EmulatedImu(self._parameters(place), seed + i), ambient)
            for i, place in enumerate(self._places)
        ]
        self._stood = 0  # samples of time that stood still
        self.paths = {place.name: board.port.path for place, board in zip(self._places, self._boards, strict=True)}

    @property
    def base_path(self) -> str | None:
        """Serial port of the board in the base; None: there is none."""
        return next((self.paths[place.name] for place in self._places if place.plate is None), None)

    @property
    def heater_duty(self) -> float:
        """Duty of the heater of the base's IMU, 0…1; 0 where there is none."""
        boards = zip(self._places, self._boards, strict=True)
        return next((board.heater_duty for place, board in boards if place.plate is None), 0.0)

    def sample(self, now: float, t: float, plates: Plates) -> None:
        """Send the samples of `now` [s since the start], t on the motion's clock, with the plates as they are."""
        self._sample(now, t, plates, False)

    def stand_still(self, now: float, t: float, plates: Plates) -> None:
        """Send samples of time that stands still: nothing turns, while the boards' clocks go on."""
        self._sample(now, t, plates, True)
        self._stood += 1

    def close(self) -> None:
        """Unplug the boards."""
        for board in self._boards:
            board.close()

    def _sample(self, now: float, t: float, plates: Plates, stands_still: bool) -> None:
        board_time = now + self._stood * self._period
        for (rate, force), board in zip(self._felt.at(t, plates, stands_still), self._boards, strict=True):
            board.step(board_time, rate, force, self._period)

    def _parameters(self, place: ImuPlace):
        return perfect_imu() if place.plate is None and isinstance(self._motion, RecordedMotion) else None
