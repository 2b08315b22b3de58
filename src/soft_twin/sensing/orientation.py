"""What every orientation filter is to the rest of the package."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from soft_twin.sensing.samples import ImuSample


@dataclass(frozen=True)
class OrientationTrack:
    """A filter's answer to a whole recording of n samples.

    Attributes:
        quaternion_wxyz: (n, 4) sensor → world, z up, heading from 0.
        gyroscope_bias: (n, 3) [rad/s], in the sensor's frame.
        std: (n, 3) standard deviation of the orientation about the world's axes [rad].
        nis: (k,) normalised innovation squared over its degrees of freedom of each update, empty for filters
            without; 1 is what an honest filter has on average at most.
    """

    quaternion_wxyz: np.ndarray
    gyroscope_bias: np.ndarray
    std: np.ndarray
    nis: np.ndarray


class OrientationFilter(ABC):
    """Orientation of a sensor in a world with z up, from rates and specific force; the heading is relative."""

    covariance_is_learnt = True  # whether the covariance follows from the samples, or is a usual one

    @abstractmethod
    def update(self, sample: ImuSample) -> None:
        """Take in the next sample; the caller has seen to it that it is finite and later than the last."""

    @abstractmethod
    def relevel(self, turn_std: float) -> None:
        """Time was lost, in which the sensor turned by about `turn_std` [rad]: find the tilt anew, keep the bias."""

    @abstractmethod
    def disturb(self, angle: float, forget_velocity: bool) -> None:
        """The last sample was doubtful: it may have turned the answer by this [rad], or its force was false."""

    @abstractmethod
    def warm(self, change: float) -> None:
        """The chip's temperature has changed [K]: the gyroscope's bias may have as well."""

    @abstractmethod
    def update_batch(
        self,
        angular_velocity: np.ndarray,
        specific_force: np.ndarray,
        rate: float,
        temperature: np.ndarray | None = None,
        time: np.ndarray | None = None,
    ) -> OrientationTrack:
        """The filter over a recording.

        Args:
            angular_velocity, specific_force: (n, 3) [rad/s], [m/s²], finite.
            rate: samples per second.
            temperature: (n,) of the chip [°C], where it was measured.
            time: (n,) of the samples [s], where their steps are not all 1/rate.

        Raises:
            InputError: the arrays are empty, of unequal shape, not finite, or the rate is not positive.
        """

    @property
    @abstractmethod
    def quaternion_wxyz(self) -> np.ndarray:
        """(4,) sensor → world; NaN before the first sample."""

    @property
    @abstractmethod
    def gyroscope_bias(self) -> np.ndarray:
        """(3,) in the sensor's frame [rad/s]."""

    @property
    @abstractmethod
    def covariance(self) -> np.ndarray:
        """(3, 3) of the orientation's error as a rotation vector in world axes [rad²]."""

    @property
    @abstractmethod
    def consistency(self) -> float:
        """Recent normalised innovation squared over its degrees of freedom; NaN where the filter has none."""
