"""How near its target a robot's tip can come at all, with cables that only pull: a bound for every controller.

The emulated robot's own mechanics, without friction, and any tensions from none to the description's most, whatever the
displacements: the distance of the tip from its target is minimised over equilibria, from several first tensions. What a
controller misses by is at least that; the rest is pretension, and what its twin does not know.
"""

import numpy as np

from soft_twin.inverse.inverse import Inverse
from soft_twin.inverse.limits import EffortLimit
from soft_twin.mechanics.actuators.cables import CableActuators
from soft_twin.robots.cable_tube import CableTube
from soft_twin.twins.finite_element import FemTwin

FIRST = (0.0, 0.2)  # [N] in all cables


def nearest(robot: CableTube, gravity: np.ndarray, target: np.ndarray) -> float:
    """[m] for a target (3,) in base_link under gravity (3,)."""
    model = robot.build_emulated_model()
    for part in model.actuators.parts:
        if isinstance(part, CableActuators):
            part.friction = 0.0
    twin = FemTwin(model, robot.body.length, robot.build_frames(model.body))
    most = np.full(twin.actuator_count, robot.winches.cable_limits.tension[1])
    found = []
    for tension in FIRST:
        twin.equilibrium(gravity, efforts=np.full(twin.actuator_count, tension))
        inverse = Inverse(twin, [EffortLimit(0.0 * most, most)], robot.cable_names, None)
        found.append(inverse.solve(gravity, target).error)
    return min(found)
