"""The forward model: the arm's equilibrium at given pressures, and its motion when a hand pulls it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from soft_twin.checks import checked_vector
from soft_twin.errors import ConvergenceError, InputError
from soft_twin.twins.tensegrity.model import ArmModel
from soft_twin.twins.tensegrity.newton import Laws, Minimiser, Minimum, StrutPlacement, Surroundings, Unknowns
from soft_twin.twins.tensegrity.shape import Shape


class ForwardModel:
    """Equilibrium with unilateral cords, pneumatic cylinders, gravity and a force at the tip."""

    def __init__(self, model: ArmModel, tolerance: float = 1e-6):
        self.model = model
        self._minimiser = Minimiser(model.structure, tolerance)
        self._unknowns = Unknowns(model.structure, np.zeros(model.structure.strut_count, dtype=bool))

    def equilibrium(self, pressures: np.ndarray, tip_force: Sequence[float] = (0.0, 0.0, 0.0)) -> Shape:
        """The shape into which the straight arm goes when pressures (c,) [Pa] and tip_force (3,) [N] are applied.

        It has no confidence, and a fault, where too many members are slack.

        Raises:
            InputError: the input has the wrong size or is out of range.
            ConvergenceError: Newton's method found no equilibrium.
        """
        laws = self.model.laws.at(self.model.checked_pressures(pressures))
        shape = self.model.shape_of(self.solve(laws, self.model.loads(tip_force)), laws)
        fault = shape.slackness()
        return replace(shape, faults=fault, confidence=0.0) if fault else shape

    def solve(self, laws: Laws, loads: np.ndarray, pose: StrutPlacement | None = None) -> Minimum:
        """The equilibrium under loads (2 s, 3) [N], from a pose (default: the straight one).

        Raises:
            ConvergenceError: Newton's method found none.
        """
        pose = self.model.start if pose is None else pose
        minimum = self._minimiser.minimise(pose, self._unknowns, laws, Surroundings.of_loads(loads))
        if not minimum.converged:
            raise ConvergenceError(
                f"no equilibrium of the tensegrity: {minimum.residual:g} N left after {minimum.iterations} steps",
                (minimum.residual,),
            )
        return minimum


class Motion:
    """The arm moving: backward Euler, each step the minimum of an incremental potential.

    With nodal masses m, viscous drag c and the step h, x minimises V(x) + Σ ½ (m/h² + c/h) |x − x̂|², where x̂ is the
    mean of the free flight x₀ + h v and of x₀, weighted with m/h² and c/h (Hairer, Wanner: Solving ODEs II, IV.8; as
    an incremental potential: Kane et al. 2000). A hand is one more spring, from the tip's nodes to the hand.

    Args:
        model: the arm.
        pressures: (c,) at the start [Pa].
        drag: c of every node [N s/m].
        hand_stiffness: of the spring between tip and hand [N/m].
    """

    def __init__(self, model: ArmModel, pressures: np.ndarray, drag: float = 2.0, hand_stiffness: float = 2000.0):
        self.model = model
        self.drag = drag
        self.hand_stiffness = hand_stiffness
        self._forward = ForwardModel(model)
        self._minimiser = Minimiser(model.structure)
        self._unknowns = Unknowns(model.structure, np.zeros(model.structure.strut_count, dtype=bool))
        laws = model.laws.at(model.checked_pressures(pressures))
        self._minimum = self._forward.solve(laws, model.loads())
        self.shape = model.shape_of(self._minimum, laws)
        self._velocities = np.zeros_like(self.shape.nodes)
        self._rest_tip = self._nodes[model.structure.top_nodes]

    @property
    def _nodes(self) -> np.ndarray:
        return self._minimum.pose.nodes(self.model.structure.strut_lengths)

    def step(self, dt: float, pressures: np.ndarray, hand: Sequence[float] | None = None) -> Shape:
        """The shape dt [s] later.

        Args:
            pressures: (c,) [Pa].
            hand: (3,) how far the hand has carried the tip from its rest, in base_link [m]; None: let go.
        """
        if not dt > 0.0:
            raise InputError(f"dt: {dt:g} s, expected a positive time step")
        laws = self.model.laws.at(self.model.checked_pressures(pressures))
        before = self._nodes
        around = self._surroundings(dt, before, hand)
        self._minimum = self._minimiser.minimise(self._minimum.pose, self._unknowns, laws, around)
        self._velocities = (self._nodes - before) / dt
        self.shape = self.model.shape_of(self._minimum, laws)
        return self.shape

    def _surroundings(self, dt: float, nodes: np.ndarray, hand: Sequence[float] | None) -> Surroundings:
        inertia = self.model.structure.node_masses / dt**2
        holds = inertia + self.drag / dt
        targets = nodes + (inertia / holds)[:, None] * dt * self._velocities
        if hand is not None:
            tip = self.model.structure.top_nodes
            pulled = self._rest_tip + self.model.level @ checked_vector(hand, 3, "hand")
            share = self.hand_stiffness / len(tip)
            targets[tip] = (holds[tip, None] * targets[tip] + share * pulled) / (holds[tip, None] + share)
            holds[tip] += share
        return replace(Surroundings.of_loads(self.model.loads()), holds=holds, targets=targets)
