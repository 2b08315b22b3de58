"""A body that moves in SOFA: steps of SOFA's own implicit Euler, which linearises where a step begins.

State and time are kept here: each question has points and velocities, so that a process that is started again goes on.
Cables are hard constraints in SOFA; how far one stretches between winch and anchor is taken from its last tension, so
that it is late by a step: while winches jerk that moves the tip, where they stand it does not. What
a base that turns does to the masses is a load on the nodes, as at the step's start.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from scipy.sparse import diags

from soft_twin.checks import check_positive, checked_vector
from soft_twin.constants import UPRIGHT_GRAVITY
from soft_twin.errors import ConvergenceError
from soft_twin.mechanics.model import Model
from soft_twin.mechanics.moving_base import MovingBase
from soft_twin.mechanics.unknowns import Pose
from soft_twin.twins.frames import Frame
from soft_twin.twins.moving_mesh import MovingMesh
from soft_twin.twins.sofa.process import SofaProcess
from soft_twin.twins.sofa.scene import SofaScene

LONG = 10.0  # [s] of a step in which inertia is as nothing, on the way to rest
AT_REST, MOST_STEPS = 1e-8, 200  # [m] no node moves further in one of those; of them


class SofaDynamicTwin(MovingMesh):
    """See the module's docstring, and MovingMesh; steps raise ConvergenceError where SOFA fails, see SofaProcess."""

    def __init__(
        self,
        model: Model,
        scene: SofaScene,
        frames: Mapping[str, Frame],
        dt: float = 0.01,
        mass_damping: float = 0.0,
        stiffness_damping: float = 0.0,
    ):
        """At rest, upright. `scene`: that `scene_of` makes of the model. `dt`: step [s]; damping α [1/s], β [s].

        Raises:
            UsageError: SOFA cannot be had.
        """
        super().__init__(model, frames, dt)
        self._process = SofaProcess(
            replace(scene, values=scene.values | {"damping": [mass_damping, stiffness_damping]})
        )
        self._masses = model.body.lumped_masses()
        self._process.start()
        self.settle(np.array(UPRIGHT_GRAVITY))

    @property
    def version(self) -> str:
        """SOFA's; "" where it does not say."""
        return self._process.version

    @property
    def efforts(self) -> np.ndarray:
        return self._efforts

    def close(self) -> None:
        """End SOFA's process; it starts again when it is asked."""
        self._process.stop()

    def straighten(self) -> None:
        self.restart(self.model.rest)

    def restart(self, pose: Pose) -> None:
        """At rest in a pose."""
        self.points, self.velocities = pose.points.copy(), np.zeros_like(pose.points)
        self._efforts = np.zeros(self.actuator_count)

    def settle(self, gravity: np.ndarray) -> None:
        self.straighten()
        base, slack = MovingBase(gravity), np.full(self.actuator_count, -float(self.model.body.mesh.size.max()))
        for _ in range(MOST_STEPS):
            before = self.points
            self.drive(slack, base, LONG)
            self.velocities = np.zeros_like(self.points)
            if np.abs(self.points - before).max() < AT_REST:
                return
        raise ConvergenceError(f"SOFA's body does not come to rest within {MOST_STEPS} steps")

    def drive(self, coordinates: np.ndarray, base: MovingBase, dt: float | None = None) -> None:
        wound = checked_vector(coordinates, self.actuator_count, "coordinates")
        dt = self.dt if dt is None else dt
        check_positive(dt, "time step", "s")
        arrays = {
            "points": self.points,
            "velocities": self.velocities,
            "masses": self._masses,
            "loads": base.inertial_forces(diags(self._masses).tocsr(), self.points, self.velocities),
            "wound": wound - self.model.actuators.softness * self._efforts,
        }
        told = {"gravity": base.gravity.tolist(), "dt": dt}
        found = self._process.ask("drive", told, arrays)
        self.points, self.velocities, self._efforts = found["points"], found["velocities"], found["efforts"]
