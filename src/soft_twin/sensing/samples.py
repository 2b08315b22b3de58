"""One reading of an inertial measurement unit."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ImuSample:
    """What an IMU measured at one instant, in the frame of its board (REP-145).

    Attributes:
        time: when it was measured [s]; which clock, says who hands it out.
        angular_velocity: (3,) rates of turn [rad/s].
        specific_force: (3,) acceleration minus gravity [m/s²]: at rest +g along "up".
        temperature: of the chip [°C], NaN where it is not measured.
    """

    time: float
    angular_velocity: np.ndarray
    specific_force: np.ndarray
    temperature: float
