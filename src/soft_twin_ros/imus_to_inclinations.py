"""Samples of one IMU per strut in, the struts' inclinations out.

Subscribes to struts/<name>/imu (sensor_msgs/Imu, each in its own time) and publishes struts/inclination for one common
time at `rate`: that of the newest sample. Struts whose IMU is late are carried on by their rate of turn, struts that
are silent, broken, stamped by another clock than the robot's, or not to be believed are NaN, and the diagnostics name
them.
"""

import math
import sys
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from sensor_msgs.msg import Imu
from soft_twin_msgs.msg import Inclinations
from std_srvs.srv import Trigger

from soft_twin.errors import UsageError
from soft_twin.robots.tensegrity import TensegrityArm
from soft_twin.sensing.gravity import GravityEstimator
from soft_twin.sensing.inclination import StrutInclinations, StrutParameters
from soft_twin.sensing.warm_up import warm_up
from soft_twin_ros.conversions import header, imu_sample
from soft_twin_ros.managed_node import ManagedNode, ManagedParameters
from soft_twin_ros.node import ERROR, NO_TIME, OK, WARN, Health, run, waiting
from soft_twin_ros.parameters import parameter
from soft_twin_ros.qos import SAMPLES

OUT_OF_STEP = 1.0  # [s] by which stamps are off where it is no busy host


@dataclass(frozen=True)
class Parameters(ManagedParameters):
    """Of this node."""

    estimator: str = parameter("ekf", "filter of each IMU: ekf, vqf or complementary")
    time_constant: float = parameter(0.5, "of the complementary filter", "s", 0.01, 60.0)
    rate: float = parameter(80.0, "rate of the inclinations", "Hz", 1.0, 400.0, settable=True)
    stale_after: float = parameter(
        0.15, "age of a sample from which its strut is not measured", "s", 0.01, 10.0, settable=True
    )
    appears_within: float = parameter(
        5.0, "IMUs that are not there so long after the start are an error", "s", 0.0, 600.0, settable=True
    )
    axes: tuple[float, ...] = parameter((1.0, 0.0, 0.0), "strut's axis in its sensor: 3 numbers for all, or 3 for each")


class ImusToInclinations(ManagedNode):
    """See the module's docstring."""

    computes = True

    def __init__(self):
        super().__init__("imus_to_inclinations", Parameters)
        if not isinstance(self.robot, TensegrityArm):
            raise UsageError(f"robot '{self.robot.name}' is no tensegrity: imus_to_inclinations has no struts")
        warm_up(GravityEstimator(np.eye(3)))
        names = [f"strut_{i}" for i in range(self.robot.structure.strut_count)]
        self._struts = StrutInclinations(names, axes_of(self.parameters.axes, len(names)), _settings(self.parameters))
        self._angles = np.full(len(names), math.nan)
        self._published = math.nan
        self._ages: dict[str, float] = {}
        self._start, self._was_there = self.steady_now(), False
        self._inclinations = self.offer(Inclinations, "struts/inclination")
        for name in names:
            self.listen(Imu, f"struts/{name}/imu", partial(self._receive, name), SAMPLES)
        self.create_service(Trigger, "reset_inclinations", self._reset)
        self._timer = self.create_steady_timer(1.0 / self.parameters.rate, self._publish)

    def adopt(self, old: Parameters, new: Parameters) -> None:
        self._timer.timer_period_ns = round(1e9 / new.rate)
        self._struts.parameters = replace(self._struts.parameters, stale_after=new.stale_after)

    def health(self) -> Health:
        unmeasured = [name for name, angle in zip(self._struts.names, self._angles, strict=True) if math.isnan(angle)]
        faults = [f"{name}: {'; '.join(words)}" for name, words in self._struts.faults.items()]
        faults += [_words(name, age) for name, age in self._ages.items() if not -OUT_OF_STEP < age < OUT_OF_STEP]
        values = {"unmeasured": ", ".join(unmeasured), "faults": " | ".join(faults)}
        if len(unmeasured) == len(self._struts.names):
            told = f"no strut is measured: {self._why(faults)}"
            return waiting(told, values) if self._starts else Health(ERROR, told, values)
        if unmeasured or faults:
            return Health(WARN, f"not measured: {', '.join(unmeasured) or 'none'}; {' | '.join(faults)}", values)
        return Health(OK, f"{len(self._struts.names)} struts measured", values)

    def _why(self, faults: list[str]) -> str:
        if self.now() == 0.0:
            return NO_TIME
        return " | ".join(faults) or "are the boards on, and their topics struts/strut_0/imu, … in this namespace?"

    @property
    def _starts(self) -> bool:
        """Whether the boards may take their time."""
        return not self._was_there and self.steady_now() < self._start + self.parameters.appears_within

    def _receive(self, name: str, message: Imu) -> None:
        sample = imu_sample(message, math.nan)
        self._ages[name] = self.now() - sample.time
        self._struts.update(name, sample)

    def _publish(self) -> None:
        if not self.active:
            return
        now = self.now()
        time = self._struts.newest(now + self.parameters.stale_after)
        if not math.isfinite(time) or time == self._published:
            self._angles = self._struts.angles(now)
            return
        self._published = time
        self._angles = self._struts.angles(time)
        self._was_there |= not np.isnan(self._angles).all()
        self._inclinations.publish(
            Inclinations(header=header(time, ""), names=list(self._struts.names), angles=self._angles.tolist())
        )

    def _reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._struts.reset()
        response.success, response.message = True, "the filters start over with the next samples"
        return response


def _words(name: str, age: float) -> str:
    stamped = f"{age:.2f} s ago" if age > 0.0 else f"{-age:.2f} s ahead of the clock"
    return f"{name}: samples stamped {stamped}: set the clocks in step"


def axes_of(values: tuple[float, ...], count: int) -> np.ndarray:
    """(count, 3) axes from three numbers for all struts, or three for each.

    Raises:
        UsageError: another number of values.
    """
    if len(values) not in (3, 3 * count):
        raise UsageError(f"parameter axes has {len(values)} numbers: expected 3, or 3 for each of {count} struts")
    return np.broadcast_to(np.reshape(values, (-1, 3)), (count, 3)).copy()


def _settings(parameters: Parameters) -> StrutParameters:
    return StrutParameters(
        estimator=parameters.estimator, time_constant=parameters.time_constant, stale_after=parameters.stale_after
    )


def main() -> int:
    """Run the node; the exit status of its process."""
    return run(ImusToInclinations)


if __name__ == "__main__":
    sys.exit(main())
