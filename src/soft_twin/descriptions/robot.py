"""A whole description: the robot, by its kind, and the parameters of its ROS nodes. A new kind is one line in KINDS."""

from functools import reduce
from operator import or_
from typing import Annotated

from pydantic import Field, model_validator

from soft_twin.descriptions.cable_tube import CableTube
from soft_twin.descriptions.fem_mesh import check_same_size
from soft_twin.descriptions.fem_robot import FemRobot
from soft_twin.descriptions.kinds_of_value import NAME, NodeParameters, mistake
from soft_twin.descriptions.learning import Learning
from soft_twin.descriptions.part import Part
from soft_twin.descriptions.tensegrity import Tensegrity

KINDS = (CableTube, FemRobot, Tensegrity)


class Description(Part):
    """What a robot's file has."""

    robot: Annotated[reduce(or_, KINDS), Field(discriminator="kind")] = Field(description="the robot")
    nodes: dict[Annotated[str, NAME], Annotated[dict | None, NodeParameters()]] = Field(
        default_factory=dict, max_length=50, description="parameters of the robot's ROS nodes, by the node's name"
    )
    learning: Learning | None = Field(default=None, description="of a surface of a `fem` robot that chambers move")

    @model_validator(mode="after")
    def _can_be_learned(self) -> "Description":
        if self.learning is not None and not (isinstance(self.robot, FemRobot) and self.robot.chambers):
            raise mistake("is of a robot of kind fem that chambers move, this one is not", "learning")
        own = None if self.learning is None else self.learning.reality.mesh
        if own is not None:
            check_same_size(own, self.robot.body.mesh, "learning", "reality", "mesh")
        return self
