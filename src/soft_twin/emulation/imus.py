"""The IMUs of an emulated robot, in its base and on its plates, each on a board of its own.

A body is computed less often than IMUs measure, and on a busy host it loses time. The board on a plate follows it with
a lag, of turn and of velocity, in two steps, so that nothing it feels jumps: from one sample to the next it turns by
what its gyroscope says, and gains the speed that its accelerometer says, whenever the body is computed. The lag is no
shorter than what the body has lived and they have not, nor than the time between two of its steps: one that is late, or
that catches up, is seen to move slowly, not by jerks. Where time stands still nothing turns, and the boards feel their
weight.
"""

import numpy as np
from scipy.spatial.transform import Rotation

from soft_twin.descriptions.drives import ImuPlace
from soft_twin.emulation.base_motion import BaseMotion, RecordedMotion
from soft_twin.emulation.imu import EmulatedImu, perfect_imu
from soft_twin.emulation.imu_board import EmulatedImuBoard
from soft_twin.emulation.plant import Plates
from soft_twin.robots.base import DrivenRobot

PLATE_LAG = 0.03  # [s] with which a board on a plate follows the plate, at least


class FeltMotion:
    """What the boards of a robot's IMUs feel, without their errors.

    Attributes:
        places: of the IMUs.
    """

    def __init__(self, robot: DrivenRobot, motion: BaseMotion, period: float):
        """`period`: between two samples [s]."""
        self.places = list(robot.imus)
        self._motion, self._period, self._plates = motion, period, robot.plate_names
        self._newest: Plates | None = None
        self._age, self._lag = 0, PLATE_LAG  # samples since the body's last step, and the lag since then [s]
        self._behind = 0.0  # time that the body has lived, and its boards have not [s]
        self._turned = self._velocities = np.zeros(0)  # (2, p, …) half the way behind the plates, and as boards feel it

    def at(self, t: float, plates: Plates) -> list[tuple[np.ndarray, np.ndarray]]:
        """(3,) turning rate [rad/s] and specific force [m/s²] in the frame of each board at the next sample, t [s] on
        the motion's clock."""
        if any(place.plate is not None for place in self.places):
            plates = self._followed(plates)
        return [self._felt(place, t, plates) for place in self.places]

    def at_rest(self, t: float, plates: Plates) -> list[tuple[np.ndarray, np.ndarray]]:
        """The same while time stands still at t: nothing turns or gains speed, and the boards feel their weight."""
        weight = self._motion.weight(t)
        return [(np.zeros(3), self._board(place, plates).T @ weight) for place in self.places]

    def _followed(self, plates: Plates) -> Plates:
        """The plates as their boards feel them."""
        if self._newest is None:
            self._turned, self._velocities = np.array([plates.rotations] * 2), np.zeros((2, *plates.velocities.shape))
        elif plates is not self._newest:
            self._behind += plates.span
            self._age, self._lag = 0, max(PLATE_LAG, self._age * self._period, self._behind)
        self._newest, self._age = plates, self._age + 1
        share = -np.expm1(-2.0 * self._period / self._lag)
        self._behind -= share * self._behind
        turns = gained = np.zeros_like(plates.velocities)
        aims = plates.rotations, plates.velocities
        for i in range(2):
            turns = share * Rotation.from_matrix(aims[0] @ self._turned[i].swapaxes(1, 2)).as_rotvec()
            gained = share * (aims[1] - self._velocities[i])
            self._turned[i] = Rotation.from_rotvec(turns).as_matrix() @ self._turned[i]
            self._velocities[i] += gained
            aims = self._turned[i], self._velocities[i]
        return Plates(plates.centres, *aims, gained / self._period, turns / self._period)

    def _board(self, place: ImuPlace, plates: Plates) -> np.ndarray:
        """(3, 3) rotation from the frame of a board, as it has followed its plate, to base_link."""
        if place.plate is None:
            return place.mounting
        turned = plates.rotations if self._newest is None else self._turned[1]
        return turned[self._plates.index(place.plate)] @ place.mounting

    def _felt(self, place: ImuPlace, t: float, plates: Plates) -> tuple[np.ndarray, np.ndarray]:
        if place.plate is not None:
            return self._on_plate(place, t, plates)
        if isinstance(self._motion, RecordedMotion):
            return self._motion.imu(t)
        motion = self._motion
        return place.mounting.T @ motion.angular_velocity(t), place.mounting.T @ motion.specific_force(t)

    def _on_plate(self, place: ImuPlace, t: float, plates: Plates) -> tuple[np.ndarray, np.ndarray]:
        """That of a board in the middle of a plate, which moves relative to the base."""
        rate, acceleration = self._motion.angular_velocity(t), self._motion.angular_acceleration(t)
        index, board = self._plates.index(place.plate), self._board(place, plates)
        arm, velocity = plates.centres[index], plates.velocities[index]
        carried = np.cross(acceleration, arm) + np.cross(rate, np.cross(rate, arm) + 2.0 * velocity)
        force = self._motion.specific_force(t) + carried + plates.accelerations[index]
        return board.T @ (rate + plates.rates[index]), board.T @ force


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
        self._send(now, self._felt.at(t, plates))

    def stand_still(self, now: float, t: float, plates: Plates) -> None:
        """Send samples of time that stands still: nothing turns, while the boards' clocks go on."""
        self._send(now, self._felt.at_rest(t, plates))
        self._stood += 1

    def close(self) -> None:
        """Unplug the boards."""
        for board in self._boards:
            board.close()

    def _send(self, now: float, felt: list[tuple[np.ndarray, np.ndarray]]) -> None:
        board_time = now + self._stood * self._period
        for (rate, force), board in zip(felt, self._boards, strict=True):
            board.step(board_time, rate, force, self._period)

    def _parameters(self, place: ImuPlace):
        return perfect_imu() if place.plate is None and isinstance(self._motion, RecordedMotion) else None
