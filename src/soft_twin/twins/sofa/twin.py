"""A twin whose mechanics are SOFA's: the scene of `worker.py`, in a process of its own.

A Newton step of SOFA's is linear in what its actuators do, as ours is. So one step without efforts and one for each
actuator with a unit of it say all that a Linearisation is: 1 + a steps of SOFA's. Where the plugin SoftRobots.Inverse
is there, SOFA solves for its actuators itself, in one step (`inverse_step`).

SOFA's stiffness knows nothing of how cables turn with the body. Where tensions are large for the body, as in a neck,
whole steps would go to and fro for ever: where they turn back, a smaller share of them is taken.

The model beside it says what SOFA is not asked for: sections, frames, the surface, how far cables are wound in. It has
the same nodes; its elastic energy is told as that of the twin.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import lsq_linear
from scipy.spatial.transform import Rotation

from soft_twin.checks import checked_vector
from soft_twin.errors import ConvergenceError
from soft_twin.mechanics.model import Model
from soft_twin.mechanics.stretching import Stretching
from soft_twin.mechanics.unknowns import Pose
from soft_twin.solvers.chord import largest_movement
from soft_twin.twins.base import Actuation, Linearisation
from soft_twin.twins.frames import Frame
from soft_twin.twins.mesh_twin import MeshTwin
from soft_twin.twins.sofa.process import SofaProcess
from soft_twin.twins.sofa.scene import SofaScene
from soft_twin.twins.sofa.worker import Arrays

UNITS = {"N": 1.0, "Pa": 1e3}  # of effort, in which SOFA is asked how actuators move the body
LARGEST_STRETCH = 0.25  # of the distance of two nodes of a cell: they move by no more against each other in a step
AT_REST = 1e-9  # [m] a step that moves no node further ends the way to an equilibrium
MOST_STEPS = 200
LESS, MORE, LEAST = 0.5, 1.05, 0.05  # factors of the share of a step that is taken, and the least share


@dataclass(frozen=True)
class SofaLinearisation(Linearisation):
    """As Linearisation; `plate_steps` (p, 6, 1 + a) of the rigid plates: the free step and those per effort."""

    plate_steps: np.ndarray


class Move(NamedTuple):
    """A step of SOFA's: of nodes (n, 3) and plates (p, 6) [m, rad], and its actuators' efforts (a,)."""

    nodes: np.ndarray
    plates: np.ndarray
    efforts: np.ndarray


class SofaTwin(MeshTwin):
    """See the module's docstring and Twin."""

    simulator = "sofa"

    def __init__(self, model: Model, scene: SofaScene, length: float, frames: Mapping[str, Frame] | None = None):
        """A twin of `length` [m] of a model of linear tetrahedra, and of the scene that `scene_of` makes of it.

        Raises:
            UsageError: SOFA cannot be had.
        """
        super().__init__(model, length, frames)
        self._process = SofaProcess(scene)
        self._tip_nodes = scene.arrays["tip"]
        self._units = np.array([UNITS[unit] for unit in self.effort_units])
        self._stretching = Stretching(self.body.mesh)
        self._attached, self._masses = self.body.attached.copy(), self.body.lumped_masses()
        self.reset()
        self._process.start()

    def reset(self) -> None:
        super().reset()
        self._share, self._last = 1.0, np.zeros_like(self.points)

    @property
    def has_inverse(self) -> bool:
        """SOFA solves for its actuators itself."""
        return self._process.has_inverse

    @property
    def version(self) -> str:
        """SOFA's; "" where it does not say."""
        return self._process.version

    def close(self) -> None:
        """End SOFA's process; it starts again when it is asked."""
        self._process.stop()

    def linearise(self, gravity: np.ndarray) -> SofaLinearisation:
        """As Twin.

        Raises:
            ConvergenceError: SOFA failed, or has ended; it is started again with the next step.
        """
        a = self.actuator_count
        found = self._ask("step", gravity, {"efforts": np.vstack([np.zeros(a), np.diag(self._units)])})
        free, by_unit = found["steps"][0], np.moveaxis(found["steps"][1:] - found["steps"][0], 0, -1)
        per_effort = np.ascontiguousarray(by_unit / self._units)
        changes = self.actuators.changes(self._pose.points, free[:, :, None], per_effort)
        plates = np.moveaxis(found.get("plate_steps", np.zeros((1 + a, 0, 6))), 0, -1)
        plates[..., 1:] = (plates[..., 1:] - plates[..., :1]) / self._units
        return SofaLinearisation(
            free_step=free,
            step_per_effort=per_effort,
            coordinates=self.body_coordinates(),
            free_coordinates=changes[0][:, 0],
            compliance=changes[1] + np.diag(self.softness),
            residual=self._residual(found["forces"][0], self.efforts),
            energy=self._energy(),
            plate_steps=plates,
        )

    def advance(self, step: SofaLinearisation, efforts: np.ndarray, largest_step: float) -> float:
        with_one = np.concatenate([[1.0], efforts])
        nodes = step.free_step + step.step_per_effort @ efforts
        return self.take(Move(nodes, step.plate_steps @ with_one, efforts), largest_step)

    def inverse_step(self, gravity: np.ndarray, target: np.ndarray, limits: np.ndarray) -> tuple[Linearisation, Move]:
        """Where the twin is, and the step of SOFA's own inverse for the tip to come to a target (3,) in base_link [m].

        Args:
            limits: (a, 4) lowest and highest efforts, lowest and highest coordinates as if without effort.

        Raises:
            ConvergenceError: see linearise; or SOFA has no inverse.
        """
        goal = target + self.points[self._tip_nodes].mean(axis=0) - self.tip
        return self._here_and_move(self._ask("solve", gravity, {"goal": goal, "limits": limits}))

    def loaded_step(self, gravity: np.ndarray, efforts: np.ndarray) -> tuple[Linearisation, Move]:
        """Where the twin is, and the step with efforts (a,), for which SOFA is asked once.

        Raises:
            ConvergenceError: see linearise.
        """
        found = self._ask("step", gravity, {"efforts": efforts[None]})
        return self._here_and_move({name: values[0] for name, values in found.items()})

    def _here_and_move(self, found: Arrays) -> tuple[Linearisation, Move]:
        a, residual = self.actuator_count, self._residual(found["forces"], self.efforts)
        still, none = np.zeros_like(self.points), np.zeros((*self.points.shape, a))
        coordinates, nothing = self.body_coordinates(), np.zeros(a)
        here = Linearisation(still, none, coordinates, nothing, np.zeros((a, a)), residual, self._energy())
        return here, Move(found["steps"], found.get("plate_steps", np.zeros((0, 6))), found["efforts"])

    def take(self, move: Move, largest_step: float) -> float:
        """Take a step, shortened so that no node moves more than `largest_step` [m]; what it asked for at most [m]."""
        largest = largest_movement(move.nodes)
        back = np.vdot(move.nodes, self._last) < 0.0
        self._share = max(LESS * self._share, LEAST) if back else min(MORE * self._share, 1.0)
        self._last = move.nodes
        fraction = min(self._share, largest_step / max(largest, 1e-300))
        fraction = min(fraction, LARGEST_STRETCH / max(self._stretching.of(move.nodes), 1e-300))
        self._pose = self._moved(fraction * move.nodes, fraction * move.plates)
        self.efforts = self.efforts + fraction * (move.efforts - self.efforts)
        return largest

    def _settle(self, gravity: np.ndarray, actuation: Actuation) -> tuple[float, int]:
        driven = np.array([value is not None for value in actuation.coordinates])
        wanted = np.array([0.0 if value is None else value for value in actuation.coordinates])
        for iteration in range(1, MOST_STEPS + 1):
            if driven.any():
                step = self.linearise(gravity)
                efforts, residual = self._driving(step, wanted, driven, actuation.loads), step.residual
                moved = self.advance(step, efforts, np.inf)
            else:
                here, move = self.loaded_step(gravity, actuation.loads)
                residual, moved = here.residual, self.take(move, np.inf)
            if moved < AT_REST:
                return residual, iteration
        raise ConvergenceError(f"SOFA's body does not come to rest within {MOST_STEPS} steps")

    def _driving(self, step: Linearisation, wanted: np.ndarray, driven: np.ndarray, loads: np.ndarray) -> np.ndarray:
        """The efforts (a,) with which a step brings the driven coordinates to where they are wanted, slack cables to no
        effort and no coordinate; the others are `loads`."""
        loads = np.where(driven, 0.0, loads)
        away = (wanted - step.coordinates - step.free_coordinates - step.compliance @ loads)[driven]
        compliance, least = step.compliance[np.ix_(driven, driven)], self.least_effort[driven]
        try:
            root = np.linalg.cholesky(0.5 * (compliance + compliance.T))
        except np.linalg.LinAlgError as error:
            raise ConvergenceError("SOFA's body gives way to its actuators: it is unstable") from error
        found = lsq_linear(root.T, np.linalg.solve(root, away), (least, np.inf), method="bvls").x
        pulling = found > least  # of those that do, now exactly
        found[pulling] = np.linalg.solve(compliance[np.ix_(pulling, pulling)], away[pulling])
        efforts = loads.copy()
        efforts[driven] = found
        return efforts

    def _ask(self, question: str, gravity: np.ndarray, arrays: Arrays) -> Arrays:
        gravity = checked_vector(gravity, 3, "gravity")
        pose = self._pose
        if len(pose.centres):
            turned = Rotation.from_matrix(pose.rotations).as_quat()
            arrays["plates"] = np.hstack([pose.centres, turned])
        if not np.array_equal(self.body.attached, self._attached):
            self._attached, self._masses = self.body.attached.copy(), self.body.lumped_masses()
        arrays = {"points": pose.points, "masses": self._masses, **arrays}
        found = self._process.ask(question, {"gravity": gravity.tolist()}, arrays)
        for index, own in enumerate(self.model.unknowns.plates):  # SOFA's have the arms of after the step
            turn, arms = found["plate_steps"][..., index, None, 3:], pose.points[own] - pose.centres[index]
            found["steps"][..., own, :] = found["plate_steps"][..., index, None, :3] + np.cross(turn, arms)
        return found

    def _moved(self, nodes: np.ndarray, plates: np.ndarray) -> Pose:
        pose, unknowns = self._pose, self.model.unknowns
        points = pose.points + nodes
        if not len(plates):
            return Pose(points, pose.centres, pose.rotations)
        centres = pose.centres + plates[:, :3]
        rotations = Rotation.from_rotvec(plates[:, 3:]).as_matrix() @ pose.rotations
        for index, own in enumerate(unknowns.plates):
            points[own] = unknowns.plate_points(index, centres[index], rotations[index])
        return Pose(points, centres, rotations)

    def _residual(self, forces: np.ndarray, efforts: np.ndarray) -> float:
        """2-norm [N] of what nodal forces (n, 3) and efforts (a,) leave over."""
        left = forces + self.actuators.gradients(self._pose.points) @ efforts
        return float(np.linalg.norm(self.model.unknowns.reduced(left, self._pose)))

    def _energy(self) -> float:
        return float(self.body.assemble(self._pose.points)[0])
