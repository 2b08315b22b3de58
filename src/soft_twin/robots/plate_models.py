"""Models of the plate at the end of a body that cables tilt, from the robot's description alone.

Any body of finite elements with cables has them: a cable whose undeformed way is parallel to the axis, from at or below
the clamped base to the section at the body's end, says at which place of the section it runs and how much longer than
the body it is, below and above. Nothing else is asked for by constant curvature, and nothing is told twice.
"""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from soft_twin.errors import UsageError
from soft_twin.inverse.plate import FemPlate
from soft_twin.inverse.plate_table import PlateTable
from soft_twin.twins.constant_curvature import ConstantCurvature
from soft_twin.twins.plate_model import PlateModel

if TYPE_CHECKING:
    from soft_twin.descriptions.fem_actuators import FemCable
    from soft_twin.robots.fem_robot import FemRobot

PARALLEL = 1e-6  # [m] by which a cable's ends may be askew


def build_plate_model(robot: "FemRobot", name: str) -> PlateModel:
    """The model of that name in PLATE_MODELS.

    Raises:
        UsageError: there is no such model.
        DescriptionError: what it asks of the robot is not so: the key is named.
        InputError: the cables do not tell how the plate stands.
    """
    if name not in PLATE_MODELS:
        raise UsageError(f"no model '{name}' of a plate: there are {', '.join(PLATE_MODELS)}")
    model = PLATE_MODELS[name](robot)
    model.displacement_limits = tuple(np.array([cable.displacement for cable in robot.description.cables]).T)
    return model


def _arc(robot: "FemRobot") -> ConstantCurvature:
    places, length, _ = _geometry(robot)
    return ConstantCurvature([length], places, cables="arc")


def _chord(robot: "FemRobot") -> ConstantCurvature:
    places, length, overhangs = _geometry(robot)
    return ConstantCurvature([length], places, cables="chord", overhangs=overhangs)


def _fem(robot: "FemRobot", backend: str = "fem") -> FemPlate:
    if (nodes := robot.payload_carrier) is None:
        raise robot.mistake("a model of a plate needs this frame to be one: say 'plate: …'", "frames", "tip")
    inverse = robot.build_inverse(robot.build_twin(backend=backend))
    return FemPlate(inverse, partial(inverse.twin.body.attach_mass, nodes))


def _sofa(robot: "FemRobot") -> FemPlate:
    return _fem(robot, "sofa")


def _table(robot: "FemRobot") -> PlateTable:
    return PlateTable(_chord(robot), _fem(robot))


def _geometry(robot: "FemRobot") -> tuple[np.ndarray, float, tuple[float, float]]:
    """Places (c, 2) of the cables in the section, length of the body, and of cables below and above it [m]."""
    length = robot.description.body.mesh.extent[2]
    ends = [_ends(robot, i, cable, length) for i, cable in enumerate(robot.description.cables)]
    if not ends:
        raise robot.mistake("a model of a plate needs cables that pull it", "cables")
    starts, stops = (np.array(each) for each in zip(*ends, strict=True))
    below, above = np.maximum(-starts[:, 2], 0.0), np.maximum(stops[:, 2] - length, 0.0)  # within PARALLEL
    for i in np.flatnonzero(np.hypot(below - below[0], above - above[0]) > PARALLEL):
        raise robot.mistake(f"begins or ends at another height than cable '{robot.cable_names[0]}'", "cables", int(i))
    return starts[:, :2], length, (float(below[0]), float(above[0]))


def _ends(robot: "FemRobot", index: int, cable: "FemCable", length: float) -> tuple[np.ndarray, np.ndarray]:
    """Where a cable begins and ends (3,) [m], once it is known to be one that constant curvature knows."""
    if cable.start is None or cable.end is None:
        raise robot.mistake("constant curvature knows cables with a start and an end", "cables", index)
    start, end = np.array(cable.start), np.array(cable.end)
    if np.hypot(*(end - start)[:2]) > PARALLEL:
        raise robot.mistake(f"runs askew from {cable.start} to {cable.end}: expected parallel to z", "cables", index)
    if start[2] > PARALLEL or end[2] < length - PARALLEL:
        words = f"runs from z {start[2]:g} to {end[2]:g} m, not from base to end of the body, 0…{length:g} m"
        raise robot.mistake(words, "cables", index)
    return start, end


PLATE_MODELS = {"pcc_arc": _arc, "pcc_chord": _chord, "fem": _fem, "fem_table": _table, "sofa": _sofa}
