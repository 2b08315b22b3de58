"""Inclinations of struts against "up", from one IMU on each (Bhat and Ikemoto 2026, eqs. 14–16).

With the strut's axis e (bottom node → top node) in the sensor's frame and "up" u = a/|a| at rest, the inclination is

    φ = atan2(|e × u|, e · u),    φ̇ = (e × ω) · u / |e × u|.

For e = x this is φ̇ = (a_z ω_y − a_y ω_z)/√(a_y² + a_z²): the paper's eq. 15 as printed has the other sign, which does
not belong to right-handed axes. atan2 keeps its accuracy near 0 and π, where eq. 14's arccos loses it.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from soft_twin.errors import InputError, UsageError
from soft_twin.sensing.ekf import EkfParameters, OrientationEkf
from soft_twin.sensing.hypotheses import HypothesesParameters
from soft_twin.sensing.orientation import OrientationFilter
from soft_twin.sensing.sample_check import SampleCheck, SampleCheckParameters, Trust
from soft_twin.sensing.samples import ImuSample
from soft_twin.sensing.vqf_orientation import VqfOrientation
from soft_twin.sensing.watched_orientation import WatchedOrientation, WatchParameters

X_AXIS = (1.0, 0.0, 0.0)
Vector = Sequence[float]


def inclination(axis: Vector, up: Vector) -> float:
    """Angle between an axis and "up", three numbers of any length each [rad], 0…π."""
    return math.atan2(math.hypot(*_cross(axis, up)), _dot(axis, up))


def inclination_rate(axis: Vector, up: Vector, angular_velocity: Vector) -> float:
    """φ̇ [rad/s]; 0 where the axis is vertical and the rate has no sign."""
    sine = math.hypot(*_cross(axis, up))
    return _dot(_cross(axis, angular_velocity), up) / sine if sine > 1e-9 else 0.0


class StrutFilter(ABC):
    """One strut's inclination, a sample at a time, whatever the sensor may say.

    Attributes:
        time: of the last usable sample [s], NaN before.
        angle: φ at that time [rad], NaN before it is known, and while it is not to be believed.
        faults: what is wrong with the last sample, or with the angle, in words.

    Args:
        axis: three numbers, of the strut in the sensor's frame, bottom → top.
    """

    def __init__(self, axis: Vector) -> None:
        self.time = self.angle = math.nan
        self.faults: tuple[str, ...] = ()
        self._axis = axis
        self._up: Vector = (math.nan, math.nan, math.nan)
        self._angular_velocity: Vector = (0.0, 0.0, 0.0)

    @abstractmethod
    def update(self, sample: ImuSample) -> None:
        """Take in the next sample."""

    def angle_at(self, time: float, stale_after: float) -> float:
        """φ at a time, "up" carried on to it by the sensor's rates, through the vertical as well [rad].

        NaN if the last sample is further away than `stale_after` [s], or the angle is not known.
        """
        age = time - self.time
        if math.isnan(self.angle) or not abs(age) <= stale_after:
            return math.nan
        return inclination(self._axis, _turned(self._up, self._angular_velocity, -age))


class ComplementaryInclination(StrutFilter):
    """The paper's filter, eq. 16: φ ← k (φ + T_s φ̇) + (1 − k) φ_q with k = T_c/(T_c + T_s).

    It has no orientation that both sensors could contradict: only its samples are checked.

    Args:
        axis: of the strut, as all have it.
        time_constant: T_c [s].
        check: settings of the check of samples.
    """

    def __init__(self, axis: Vector, time_constant: float = 0.5, check: SampleCheckParameters | None = None):
        super().__init__(axis)
        self._time_constant = time_constant
        self._check = SampleCheck(check)

    def update(self, sample: ImuSample) -> None:
        verdict = self._check.judge(sample)
        self.faults = verdict.faults
        if verdict.trust is Trust.BAD:
            return
        if verdict.trust is Trust.LOST:
            self.angle = math.nan
        up = verdict.sample.specific_force.tolist()
        measured = inclination(self._axis, up)
        self._angular_velocity = verdict.sample.angular_velocity.tolist()
        dt, self.time = sample.time - self.time, sample.time
        if math.isnan(self.angle):
            self.angle = measured
        else:
            k = self._time_constant / (self._time_constant + dt)
            carried = self.angle + dt * inclination_rate(self._axis, up, self._angular_velocity)
            self.angle = k * abs(math.remainder(carried, 2.0 * math.pi)) + (1.0 - k) * measured
        self._up = _inclined(self._axis, up, self.angle)


class OrientationInclination(StrutFilter):
    """Inclination from a watched orientation: motion is told from gravity, bias is found, doubt is said.

    Args:
        axis: of the strut, as all have it.
        orientation: a filter of its own, and its watch.
    """

    def __init__(self, axis: Vector, orientation: WatchedOrientation):
        super().__init__(axis)
        self._orientation = orientation

    def update(self, sample: ImuSample) -> None:
        verdict = self._orientation.update(sample)
        self.faults = self._orientation.faults
        if verdict.trust is Trust.BAD:
            return
        self.time = sample.time
        if not self._orientation.valid:
            self.angle = math.nan
            return
        w, x, y, z = self._orientation.filter.quaternion_wxyz.tolist()
        self._up = (2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y))
        self._angular_velocity = (verdict.sample.angular_velocity - self._orientation.filter.gyroscope_bias).tolist()
        self.angle = inclination(self._axis, self._up)


@dataclass(frozen=True)
class StrutParameters:
    """Settings of the estimator of many struts.

    Attributes:
        estimator: "ekf", "vqf" or "complementary".
        time_constant: of the complementary filter [s].
        stale_after: age of a sample from which its strut counts as not measured [s].
        ekf, watch: of each IMU. Struts move less far than a hand does; they swing in one plane, which gives odds of up
            to 0.2 to mistakes that such a motion cannot tell from none: more doubt than a base's is allowed.
    """

    estimator: str = "ekf"
    time_constant: float = 0.5
    stale_after: float = 0.15
    ekf: EkfParameters = field(default_factory=lambda: replace(EkfParameters(), position_std=0.2))
    watch: WatchParameters = field(default_factory=lambda: WatchParameters(hypotheses=HypothesesParameters(limit=0.3)))


class StrutInclinations:
    """Inclinations of 1…100 struts whose IMUs speak at their own times, late, or not at all.

    Args:
        names: of the struts, unique.
        axes: (s, 3) of the struts in their sensors' frames, bottom → top; x by default.
        parameters: settings.

    Raises:
        InputError: no names, doubled names, or axes that are not (s, 3) and of length 1.
        UsageError: there is no such estimator.
    """

    def __init__(self, names: Sequence[str], axes: np.ndarray | None = None, parameters: StrutParameters | None = None):
        self.parameters = parameters or StrutParameters()
        self.names = tuple(names)
        if not self.names or len(set(self.names)) < len(self.names):
            raise InputError(f"struts {', '.join(self.names) or 'none'}: expected at least one, each name once")
        self._axes = _checked_axes(axes, len(self.names))
        self._make_filter = _filter_factory(self.parameters)
        self.reset()

    def reset(self) -> None:
        """Forget all samples."""
        self._struts = {
            name: self._make_filter(axis) for name, axis in zip(self.names, self._axes.tolist(), strict=True)
        }

    def update(self, name: str, sample: ImuSample) -> None:
        """Take in a sample of one strut. What is wrong with it is in `faults`.

        Raises:
            InputError: there is no such strut.
        """
        if name not in self._struts:
            raise InputError(f"no strut '{name}': there are {', '.join(self.names)}")
        self._struts[name].update(sample)

    def angles(self, time: float) -> np.ndarray:
        """(s,) inclinations [rad] at one common time [s], carried on from each strut's last sample by its rate.

        NaN where a strut was not measured within `stale_after` of it, or where its IMU is not to be believed.
        """
        return np.array([strut.angle_at(time, self.parameters.stale_after) for strut in self._struts.values()])

    def newest(self, latest: float = math.inf) -> float:
        """Time of the newest usable sample of any strut whose clock is not ahead of `latest` [s], NaN without one."""
        return max((strut.time for strut in self._struts.values() if strut.time <= latest), default=math.nan)

    @property
    def faults(self) -> dict[str, tuple[str, ...]]:
        """What is wrong with each strut's last sample or its answer, by name; struts without faults are left out."""
        return {name: strut.faults for name, strut in self._struts.items() if strut.faults}


def _filter_factory(parameters: StrutParameters) -> Callable[[Vector], StrutFilter]:
    def watched(axis: Vector, orientation: OrientationFilter) -> StrutFilter:
        return OrientationInclination(axis, WatchedOrientation(orientation, parameters.watch))

    factories = {
        "ekf": lambda axis: watched(axis, OrientationEkf(parameters.ekf)),
        "vqf": lambda axis: watched(axis, VqfOrientation()),
        "complementary": lambda axis: ComplementaryInclination(axis, parameters.time_constant, parameters.watch.check),
    }
    if parameters.estimator not in factories:
        raise UsageError(f"no estimator of inclinations '{parameters.estimator}': there are {', '.join(factories)}")
    return factories[parameters.estimator]


def _checked_axes(axes: np.ndarray | None, count: int) -> np.ndarray:
    array = np.tile(X_AXIS, (count, 1)) if axes is None else np.asarray(axes, dtype=float)
    if array.shape != (count, 3) or not np.allclose(np.linalg.norm(array, axis=1), 1.0, atol=1e-6):
        raise InputError(f"strut axes of shape {array.shape}: expected ({count}, 3), each of length 1")
    return array


def _inclined(axis: Vector, up: Vector, angle: float) -> Vector:
    """Where "up" is if it is at that angle [rad] to an axis of length 1, on the side of it on which it was measured."""
    along = _dot(axis, up)
    side = [u - along * e for u, e in zip(up, axis, strict=True)]
    sine = math.sin(angle) / max(math.hypot(*side), 1e-9)
    return [math.cos(angle) * e + sine * n for e, n in zip(axis, side, strict=True)]


def _turned(vector: Vector, angular_velocity: Vector, time: float) -> Vector:
    """A vector that turned with an angular velocity [rad/s] for a time [s], by Rodrigues' formula."""
    speed = math.hypot(*angular_velocity)
    if speed == 0.0:
        return vector
    pole = [rate / speed for rate in angular_velocity]
    cosine, sine = math.cos(time * speed), math.sin(time * speed)
    along = (1.0 - cosine) * _dot(pole, vector)
    across = _cross(pole, vector)
    return [cosine * v + sine * c + along * p for v, c, p in zip(vector, across, pole, strict=True)]


def _cross(a: Vector, b: Vector) -> tuple[float, float, float]:
    """On three plain numbers numpy is ten times as slow."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def _dot(a: Vector, b: Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
