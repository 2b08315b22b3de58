"""One answer of a plate's model: what cables do for an orientation, or for the nearest that is in reach."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from soft_twin.inverse.limits import CoordinateLimit
from soft_twin.inverse.plate import FemPlate
from soft_twin.twins.plate_model import REACHED, PlateModel, apart


@dataclass(frozen=True)
class PlateAnswer:
    """What was found.

    Attributes:
        displacements: (c,) cable to be pulled in, within its limits [m].
        efforts: (c,) tensions [N]; NaN where the model knows of none.
        reached: pitch and roll [rad] of the plate then.
        reachable: whether that is what was asked for; else it is the nearest.
        active_limits: that bind, in words.
        caveat: of the model, see PlateModel.
    """

    displacements: np.ndarray
    efforts: np.ndarray
    reached: tuple[float, float]
    reachable: bool
    active_limits: tuple[str, ...]
    caveat: str = ""


def answer(model: PlateModel, pitch: float, roll: float, names: Sequence[str]) -> PlateAnswer:
    """A model's answer for an orientation [rad]; it is moved, if it has a state.

    Args:
        model: is asked.
        pitch, roll: of `plate_orientation.py` [rad].
        names: (c,) of the cables.

    Raises:
        InputError: not finite, no orientation, or the limits do not even allow a straight body.
        ConvergenceError: the model broke down.
    """
    if isinstance(model, FemPlate):
        found = model.solve(pitch, roll)
        return PlateAnswer(found.coordinates, found.efforts, model.now, found.reachable, found.active_limits)
    reached = model.nearest(pitch, roll)
    told, unknown = model.displacements(*reached), np.full(len(names), np.nan)
    limit = CoordinateLimit(*model.displacement_limits, "displacement")
    reachable = apart(reached, (pitch, roll)) < REACHED
    return PlateAnswer(told, unknown, reached, reachable, tuple(limit.active(names, unknown, told)), model.caveat)
