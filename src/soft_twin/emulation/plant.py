"""The body of an emulated cable-driven robot: another mesh and other parameters than the twin's, and it moves.

Implicit Euler on M ẍ + α M ẋ + β K ẋ + ∂W/∂x + Σ T ∂ℓ/∂x = f, in the frame of the moving base: f has gravity
less the base's acceleration, and the Euler, centrifugal and Coriolis forces of its rotation. Cables are elastic
and unilateral, T = k (ℓ − ℓ₀ + d)₊ with d wound in by the winch, and rub where they turn: from base to tip the
tension falls by exp(−μ θ s), where θ is the angle turned so far and s in −1…1 says which way the cable last slid
(Dahl's friction state with a presliding length).

The tangent is factorised again only when the iteration with the last one converges slowly, so that a robot at rest
costs little.
"""

import numpy as np

from soft_twin.checks import checked_vector
from soft_twin.errors import ConvergenceError
from soft_twin.robots.cable_tube import CableTube
from soft_twin.twin import build_cable_tube_body, build_cables
from soft_twin.twin.actuators.cables import CableActuators
from soft_twin.twin.fem import FemTwin
from soft_twin.twin.forces.loads import Gravity
from soft_twin.twin.model import Model
from soft_twin.twin.qp import solve_box_qp

PRESLIDING = 5e-5  # [m] of cable travel that turns the friction around
TOLERANCE = 1e-5  # [N] of the residual's norm at which a step is accepted
STRETCH_TOLERANCE = 1e-6  # [m] of the cables' elastic law, likewise
DIVERGED = 1e4  # [N] of the residual's norm at which an iteration is given up
MAX_ITERATIONS = 20
HALVINGS = 4  # of a step that does not converge
LARGEST_STEP = 0.01  # [m] per iteration


class Plant:
    """See the module's docstring.

    Attributes:
        points: (n, 3) nodes in base_link [m].
        velocities: (n, 3) [m/s].
        tensions: (c,) cable tensions at the winches [N].
    """

    def __init__(self, robot: CableTube, mesh: str = "plant"):
        self._mismatch = robot.emulated
        body = build_cable_tube_body(
            robot, mesh, scale_e=self._mismatch.young_modulus_scale, scale_rho=self._mismatch.density_scale
        )
        cables = build_cables(robot, body.mesh)
        drive = CableActuators(cables, robot.cable_stiffness)
        self._statics = FemTwin(Model(body, [Gravity()], actuators=[drive]), robot.body.length)
        self._body, self._cables = body, cables
        self._stiffness = robot.cable_stiffness
        self._alpha, self._beta = robot.body.damping.rayleigh_mass, robot.body.damping.rayleigh_stiffness
        self._masses = body.lumped_masses()[:, None]
        self._matrix = body.new_factorisation()
        self._cable_addresses = self._matrix.addresses(cables.nodes)
        self._factorised_for: float | None = None
        self.stations = np.linspace(0.0, robot.body.length, 11)
        self.settle(np.array([0.0, 0.0, -9.81]))

    def settle(self, gravity: np.ndarray) -> None:
        """Rest under gravity (3,) in base_link [m/s²] with all cables slack."""
        self.points = self._statics.equilibrium(gravity).points
        self.velocities = np.zeros_like(self.points)
        self.tensions = np.zeros(self._cables.count)
        self._elastic = self._body.assemble(self.points)[1].copy()
        self._displacements = self._cables.rest_lengths - self._cables.lengths(self.points)
        self._slid = np.zeros(self._cables.count)

    @property
    def tip(self) -> np.ndarray:
        """(3,) centre of the end section in base_link [m]."""
        return self._statics.section(self._statics.length, self.points)

    @property
    def tip_direction(self) -> np.ndarray:
        """(3,) unit normal of the end section."""
        self._statics.points = self.points
        return self._statics.section_normal(self._statics.length)

    @property
    def centre_line(self) -> np.ndarray:
        """(11, 3) centres of cross sections at equal distances from base to tip [m]."""
        return np.array([self._statics.section(z, self.points) for z in self.stations])

    @property
    def free_displacements(self) -> np.ndarray:
        """(c,) winch displacements at which each cable is just taut [m]."""
        return self._displacements

    def step(
        self,
        dt: float,
        winch_displacements: np.ndarray,
        specific_gravity: np.ndarray,
        angular_velocity: np.ndarray,
        angular_acceleration: np.ndarray,
    ) -> None:
        """Advance by `dt` [s].

        Args:
            dt: time step [s].
            winch_displacements: (c,) cable that each winch has wound in [m].
            specific_gravity: (3,) gravity less the base's acceleration, in base_link [m/s²].
            angular_velocity: (3,) of the base, in base_link [rad/s].
            angular_acceleration: (3,) likewise [rad/s²].

        Raises:
            InputError: not finite or of another size.
            ConvergenceError: the step was not found; the state is the one before it.
        """
        wound = checked_vector(winch_displacements, self._cables.count, "winch displacements")
        gravity = checked_vector(specific_gravity, 3, "specific gravity")
        motion = gravity, np.asarray(angular_velocity, float), np.asarray(angular_acceleration, float)
        self._advance(dt, self._cables.rest_lengths - wound, motion, HALVINGS)

    def _advance(self, dt: float, taut: np.ndarray, motion: tuple, halvings: int) -> None:
        """A step, or two of half the length where it does not converge; `taut`: (c,) lengths at which cables pull."""
        tensions = self.tensions
        try:
            x, elastic = self._solve(dt, taut, self._loads(*motion))
        except ConvergenceError:
            self.tensions, self._factorised_for = tensions, None
            if halvings == 0:
                raise
            for _ in range(2):
                self._advance(0.5 * dt, taut, motion, halvings - 1)
            return
        self.velocities = (x - self.points) / dt
        self.points, self._elastic = x, elastic
        self._slide()

    def _solve(self, dt: float, taut: np.ndarray, loads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions (n, 3) after the step, and the elastic forces (n, 3) there."""
        x = self.points + dt * self.velocities
        factors = self._piece_factors()
        previous = np.inf
        for _ in range(MAX_ITERATIONS):
            pulls = self._cables.scaled_gradients(x, factors)
            unbalanced, elastic = self._unbalanced(x, dt, loads)
            residual = float(np.linalg.norm(self._body.free_values(unbalanced - pulls @ self.tensions)))
            if residual < TOLERANCE and self._stretch_error(x, taut) < STRETCH_TOLERANCE:
                return x, elastic.copy()
            if not residual < DIVERGED:
                break
            if self._factorised_for != dt or residual > 0.5 * previous:
                self._factorise(x, dt)
            previous = residual
            x = x + self._newton_step(x, unbalanced, pulls, taut)
        raise ConvergenceError(f"the emulated body's step of {dt:g} s did not converge: residual {residual:.3g} N")

    def _loads(self, gravity: np.ndarray, rate: np.ndarray, acceleration: np.ndarray) -> np.ndarray:
        """Nodal forces (n, 3) of gravity and of the base's rotation [N]."""
        swirl = np.cross(rate, np.cross(rate, self.points) + 2.0 * self.velocities)
        return self._body.weight(gravity) - self._masses * (np.cross(acceleration, self.points) + swirl)

    def _unbalanced(self, x: np.ndarray, dt: float, loads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Forces that the cables have to balance (n, 3), and the elastic ones (n, 3)."""
        elastic = self._body.assemble(x)[1]
        velocity = (x - self.points) / dt
        inertia = self._masses * ((velocity - self.velocities) / dt + self._alpha * velocity)
        damping = self._beta / dt * (elastic - self._elastic)
        return loads - inertia - elastic - damping, elastic

    def _factorise(self, x: np.ndarray, dt: float) -> None:
        def assemble() -> None:
            self._body.assemble(x, self._matrix)
            self._matrix.data[:] *= 1.0 + self._beta / dt
            self._cables.add_stiffness(x, self.tensions, *self._cable_addresses, self._matrix.data)
            inertia = np.repeat(self._masses, 3, axis=1) * (1.0 / dt**2 + self._alpha / dt)
            self._matrix.add_to_diagonal(self._body.free_values(inertia))

        assemble()
        self._matrix.factorise(assemble)
        self._factorised_for = dt

    def _newton_step(self, x: np.ndarray, unbalanced: np.ndarray, pulls: np.ndarray, taut: np.ndarray) -> np.ndarray:
        """Step (n, 3) of the nodes, together with the new tensions: T ≥ 0, elastic where taut."""
        lengths, gradients = self._cables.lengths_and_gradients(x)
        body = self._body
        right = np.column_stack([body.free_values(unbalanced), body.free_values(pulls)])
        solution = self._matrix.solve(right)
        sensitivities = body.free_values(gradients).T @ solution
        compliance = 0.5 * (sensitivities[:, 1:] + sensitivities[:, 1:].T)
        # friction makes the compliance unsymmetric: the QP takes its symmetric part, the rest lags by an iteration
        stretch = lengths + sensitivities[:, 0] - taut + (compliance - sensitivities[:, 1:]) @ self.tensions
        compliance += np.eye(self._cables.count) / self._stiffness
        self.tensions = solve_box_qp(compliance, -stretch, 0.0, np.inf)
        move = body.spread(solution[:, 0] - solution[:, 1:] @ self.tensions)
        return move * min(1.0, LARGEST_STEP / max(float(np.abs(move).max()), 1e-300))

    def _stretch_error(self, x: np.ndarray, taut: np.ndarray) -> float:
        """How far the tensions are from the cables' elastic law, as a length [m]."""
        stretch = np.maximum(self._cables.lengths(x) - taut, 0.0)
        return float(np.abs(stretch - self.tensions / self._stiffness).max())

    def _piece_factors(self) -> np.ndarray:
        """(s,) tension of each piece of a cable relative to the tension at the winch."""
        sliding = self._slid[self._cables.owners]
        return np.exp(-self._mismatch.cable_friction * sliding * self._cables.turning(self.points))

    def _slide(self) -> None:
        displacements = self._cables.rest_lengths - self._cables.lengths(self.points)
        self._slid = np.clip(self._slid + (displacements - self._displacements) / PRESLIDING, -1.0, 1.0)
        self._displacements = displacements
