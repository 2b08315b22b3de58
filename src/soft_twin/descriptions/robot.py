"""A whole description: the robot, by its kind, and the parameters of its ROS nodes. A new kind is one line in KINDS."""

from functools import reduce
from operator import or_
from typing import Annotated

from pydantic import Field

from soft_twin.descriptions.cable_tube import CableTube
from soft_twin.descriptions.fem_robot import FemRobot
from soft_twin.descriptions.kinds_of_value import NAME, NodeParameters
from soft_twin.descriptions.part import Part
from soft_twin.descriptions.tensegrity import Tensegrity

KINDS = (CableTube, FemRobot, Tensegrity)


class Description(Part):
    """What a robot's file has."""

    robot: Annotated[reduce(or_, KINDS), Field(discriminator="kind")] = Field(description="the robot")
    nodes: dict[Annotated[str, NAME], Annotated[dict | None, NodeParameters()]] = Field(
        default_factory=dict, max_length=50, description="parameters of the robot's ROS nodes, by the node's name"
    )
