"""All links of a robot on /tf and /tf_static, and its URDF for who draws it."""

from collections.abc import Sequence

import numpy as np
from scipy.spatial.transform import Rotation
from std_msgs.msg import String

from soft_twin.robots.joints import cable_joints, chamber_joints
from soft_twin.robots.links import BASE, Link
from soft_twin.robots.skeleton import Skeleton
from soft_twin.robots.urdf import urdf
from soft_twin_ros.node import RobotNode
from soft_twin_ros.qos import LATCHED
from soft_twin_ros.transforms import Transforms, told_for_good


class RobotFrames:
    """All links of a robot below `base_link`: those that move as the twin does, and once for all its URDF on
    robot_description, and those that do not move."""

    def __init__(self, node: RobotNode, skeleton: Skeleton, fixed: Sequence[Link] = ()):
        """`fixed`: further links that do not move."""
        self._skeleton = skeleton
        still = [Link(joint.mark, BASE) for joint in chamber_joints(node.robot)]
        marks = [Link(joint.mark, BASE) for joint in cable_joints(node.robot)]
        self._places = np.zeros((len(skeleton.moving) + len(marks), 3))
        self._turns = np.tile([0.0, 0.0, 0.0, 1.0], (len(self._places), 1))
        self._moving = Transforms(node, [*skeleton.moving, *marks])
        self._description = node.create_publisher(String, "robot_description", LATCHED)
        self._description.publish(String(data=urdf(node.robot, skeleton, node.get_namespace())))
        self._fixed = told_for_good(node, [*skeleton.fixed, *still, *fixed])

    def send(self, seconds: float, points: np.ndarray, coordinates: np.ndarray | None = None) -> None:
        """Where the links are, if it is time for it.

        Args:
            seconds: stamp of the sample that they follow from.
            points: (n, 3) of the skeleton's nodes in base_link [m].
            coordinates: (a,) of the actuators, the cables' displacements [m] first; without, marks stay.
        """
        if not self._moving.due:
            return
        count = len(self._skeleton.moving)
        self._places[:count], turns = self._skeleton.transforms(points)
        self._turns[:count] = Rotation.from_matrix(turns).as_quat()
        if coordinates is not None:
            self._places[count:, 2] = -coordinates[: len(self._places) - count]
        self._moving.send(seconds, self._places, self._turns)
