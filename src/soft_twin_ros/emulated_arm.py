"""A tensegrity arm that is not there: it moves, and publishes what its sensors would.

Publishes struts/inclination and chambers/state, and for evaluation truth/shape, truth/tip and truth/base, at `rate`.
"""

import sys
from dataclasses import dataclass

import numpy as np
from geometry_msgs.msg import PoseStamped, QuaternionStamped
from soft_twin_msgs.msg import Inclinations, Pressures, Shape
from transforms3d.quaternions import mat2quat

from soft_twin.emulation.tensegrity_arm import EmulatedTensegrityArm
from soft_twin.errors import UsageError
from soft_twin.robots.tensegrity import TensegrityArm
from soft_twin.twins.tensegrity.shape import tip_direction
from soft_twin_ros.conversions import attitude_message, header, pose_message, shape_message
from soft_twin_ros.node import OK, Health, RobotNode, RobotParameters, run
from soft_twin_ros.parameters import parameter


@dataclass(frozen=True)
class Parameters(RobotParameters):
    """Of this node."""

    rate: float = parameter(80.0, "rate of the readings", "Hz", 1.0, 200.0, settable=True)
    seed: int = parameter(0, "of everything random", "", 0, 2**31 - 1)


class EmulatedArm(RobotNode):
    """See the module's docstring."""

    computes = True

    def __init__(self):
        super().__init__("emulated_arm", Parameters)
        if not isinstance(self.robot, TensegrityArm):
            raise UsageError(f"robot '{self.robot.name}' is no tensegrity: emulated_arm cannot be it")
        self._emulated = EmulatedTensegrityArm(self.robot, self.parameters.seed)
        self._inclinations = self.offer(Inclinations, "struts/inclination")
        self._pressures = self.offer(Pressures, "chambers/state")
        self._truth = self.offer(Shape, "truth/shape")
        self._tips = self.offer(PoseStamped, "truth/tip")
        self._bases = self.offer(QuaternionStamped, "truth/base")
        self._timer = self.create_steady_timer(1.0 / self.parameters.rate, self._step)

    def health(self) -> Health:
        return Health(OK, f"the arm: {self._emulated.phase}", {"phase": self._emulated.phase})

    def adopt(self, old: Parameters, new: Parameters) -> None:
        self._timer.timer_period_ns = round(1e9 / new.rate)

    def _step(self) -> None:
        reading = self._emulated.step(1.0 / self.parameters.rate)
        now = self.now()
        structure, truth = self.robot.structure, reading.truth
        cylinders = [f"cylinder_{k}" for k in range(len(reading.pressures))]
        struts = [f"strut_{i}" for i in range(structure.strut_count)]
        self._pressures.publish(
            Pressures(header=header(now, ""), names=cylinders, pressures=np.asarray(reading.pressures).tolist())
        )
        self._inclinations.publish(
            Inclinations(header=header(now, ""), names=struts, angles=reading.inclinations.tolist())
        )
        self._truth.publish(
            shape_message(now, self.base_frame, structure.node_names, truth.nodes, truth.energy, truth.residual)
        )
        self._tips.publish(pose_message(now, self.base_frame, truth.tip(), None, tip_direction(truth)))
        self._bases.publish(attitude_message(now, "world", mat2quat(self.robot.model.level)))


def main() -> int:
    """Run the node; the exit status of its process."""
    return run(EmulatedArm)


if __name__ == "__main__":
    sys.exit(main())
