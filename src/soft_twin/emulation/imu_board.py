"""A serial IMU board that is not there: samples out, heater duty in."""

import numpy as np

from soft_twin.emulation.imu import EmulatedImu
from soft_twin.emulation.line_faults import LineFaults
from soft_twin.emulation.ports import PseudoTerminal
from soft_twin.sensing.imu_frames import HeaterDecoder, encode_sample


class EmulatedImuBoard:
    """An emulated IMU that streams frames on a pseudo-terminal.

    Attributes:
        port: what the driver opens.
        line: between board and port, for faults on purpose.
        heater_duty: as last set by the driver, 0…1.
    """

    def __init__(self, imu: EmulatedImu, ambient: float):
        """`ambient`: temperature of the air [°C]."""
        self.port = PseudoTerminal()
        self.line = LineFaults(self.port)
        self.heater_duty = 0.0
        self._imu = imu
        self._ambient = ambient
        self._heater = HeaterDecoder()
        self._sequence = 0

    def step(self, time: float, angular_velocity: np.ndarray, specific_force: np.ndarray, dt: float) -> None:
        """Send the sample of that time.

        Args:
            time: on the board's clock [s].
            angular_velocity, specific_force: (3,) the truth in the board's frame [rad/s], [m/s²].
            dt: since the last sample [s].
        """
        for duty in self._heater.feed(self.line.read()):
            self.heater_duty = duty
        sample = self._imu.sample(time, angular_velocity, specific_force, self._ambient, self.heater_duty, dt)
        self.line.write(encode_sample(sample, self._sequence))
        self._sequence += 1

    def close(self) -> None:
        """Unplug the board."""
        self.port.close()
