"""Winches: an M2006's rotor behind its gear, a drum, an elastic cable with slack on a springy body.

Along one cable, with x the cable wound in by the rotor's positive sense [m], v its rate and i the current [A]:

    m dv/dt = τ i − b v − c sign(v) − d T / F,      T = max(0, k (s d x − slack − κ Σ other cables))

m rotor's inertia [A s²/m], b viscous and c dry friction [A s/m, A], F = 0.18 N·m/A over the drum's radius [N/A] (M2006
data sheet), d the sense in which the cable is wound, s measured over computed length, T the tension [N], k the
stiffness of body and cable in series [N/m]. τ is 1, and −1 with two phases swapped. The current follows the commanded
one with a lag of some milliseconds; a controller that is too hot cuts it down.
"""

from copy import copy
from dataclasses import dataclass

import numpy as np
from numba import njit

TORQUE_CONSTANT = 0.18  # [N·m/A] at the output shaft
GEAR = 36.0
COUNTS = 8192  # a turn of the rotor
X, V, I, TENSION = range(4)
MASS, VISCOUS, DRY, LAG, FORCE, STIFFNESS, SLACK, DIRECTION, SCALE, RADIUS = range(10)
POWER, TORQUE, LOCKED, CEILING, ON_DRUM, BLOCKED_AT, SLIP = range(7)
BLOCK_STIFFNESS = 5000.0  # [N/m] of a cable whose end does not give
SUBSTEPS = 4


@dataclass(frozen=True)
class Winch:
    """One motor with drum and cable.

    Attributes:
        motor_id: to which it answers, 1…8.
        mass, viscous, dry: inertia [A s²/m], friction [A s/m] and [A], all as felt along the cable.
        lag: time constant of the current [s].
        stiffness: of body and cable [N/m].
        slack: cable to be wound in until it pulls [m].
        direction, scale: see the module.
        encoder: angle of the rotor at the start [counts].
        patience: time without a command after which the controller lets go [s].
    """

    motor_id: int
    mass: float
    viscous: float
    dry: float
    lag: float
    stiffness: float
    slack: float
    direction: int
    scale: float
    encoder: int
    patience: float


class Winches:
    """The winches of a robot, at 1 kHz, in numbers that the outside could measure.

    Attributes:
        state: (n, 4) wound x [m], rate [m/s], current [A], tension [N].
        health: (n, 7) powered, torque's sign, locked, ceiling of the current [A], cable on the drum, cable length at
            which the body is blocked [m], slip of the encoder [counts].
        wanted: (n,) current that each motor was last told [A].
    """

    def __init__(self, winches: list[Winch], radius: float, coupling: float):
        n = len(winches)
        self.winches = winches
        force = TORQUE_CONSTANT / radius
        self._parameters = np.array(
            [
                (w.mass, w.viscous, w.dry, w.lag, force, w.stiffness, w.slack, w.direction, w.scale, radius)
                for w in winches
            ]
        )
        self._coupling = coupling
        self._encoder = np.array([float(w.encoder) for w in winches])
        self.state = np.zeros((n, 4))
        self.health = np.tile((1.0, 1.0, 0.0, 1e9, 1.0, np.inf, 0.0), (n, 1))
        self.wanted = np.zeros(n)
        self._angle = np.array([w.direction * w.scale for w in winches])

    def lengths(self) -> np.ndarray:
        """(n,) cable wound in since the start [m], as a ruler would measure it."""
        return self.state[:, X] * self._angle

    def rates(self) -> np.ndarray:
        """(n,) of the lengths [m/s]."""
        return self.state[:, V] * self._angle

    def relax_cables(self) -> None:
        """Put every cable on its drum anew so that it just pulls."""
        lengths = self.lengths()
        self._parameters[:, SLACK] = lengths - self._coupling * lengths.mean()

    def slacks(self, lengths: np.ndarray | None = None) -> np.ndarray:
        """(n,) cable that could be wound in before each pulls, also at a body that is caught [m]; inf off the drum.

        Of cables that are wound in by these `lengths` (n,) [m], or as they are, at a body that is where it is.
        """
        taut = np.minimum(self._taut(), self.health[:, BLOCKED_AT])
        slack = taut - (self.lengths() if lengths is None else lengths)
        return np.where(self.health[:, ON_DRUM] > 0.0, slack, np.inf)

    def tensions(self, lengths: np.ndarray) -> np.ndarray:
        """(n,) by which the cables would pull if they were wound in by these lengths (n,) [m] [N]."""
        body = self._parameters[:, STIFFNESS] * (lengths - self._taut())
        block = BLOCK_STIFFNESS * (lengths - self.health[:, BLOCKED_AT])
        return (np.maximum(body, 0.0) + np.maximum(block, 0.0)) * self.health[:, ON_DRUM]

    def _taut(self) -> np.ndarray:
        """(n,) lengths from which on the body pulls [m]."""
        return self._parameters[:, SLACK] + self._coupling * self.lengths().mean()

    def copy(self) -> "Winches":
        """Winches that are in the same state, and go their own way from here."""
        other = copy(self)
        other.state, other.health, other.wanted = self.state.copy(), self.health.copy(), self.wanted.copy()
        return other

    def step(self, dt: float) -> np.ndarray:
        """Live for dt [s]; (n, 3) what the controllers measure: angle [counts], speed [rpm], current [mA]."""
        return _step(self.state, self.health, self.wanted, self._parameters, self._encoder, self._coupling, dt)


@njit(cache=True)
def _step(state, health, wanted, parameters, encoder, coupling, dt):
    n = len(state)
    measured = np.empty((n, 3), np.int64)
    h = dt / SUBSTEPS
    for _ in range(SUBSTEPS):
        total = 0.0
        for i in range(n):
            total += state[i, X] * parameters[i, DIRECTION] * parameters[i, SCALE]
        for i in range(n):
            _turn(state[i], health[i], wanted[i], parameters[i], coupling * total / n, h)
    for i in range(n):
        turns = state[i, X] / parameters[i, RADIUS] * GEAR / (2.0 * np.pi)
        measured[i, 0] = int(np.floor(turns * COUNTS + encoder[i] + health[i, SLIP])) % COUNTS
        speed = state[i, V] / parameters[i, RADIUS] * GEAR / (2.0 * np.pi) * 60.0
        measured[i, 1] = int(np.rint(min(max(speed, -32768.0), 32767.0)))
        measured[i, 2] = int(np.rint(1000.0 * min(max(state[i, I], -20.0), 20.0)))
    return measured


@njit(cache=True)
def _turn(state, health, wanted, p, others, h):
    """One winch, semi-implicit in its friction; dry friction stops it but never turns it."""
    length = state[X] * p[DIRECTION] * p[SCALE]
    tension = max(0.0, p[STIFFNESS] * (length - p[SLACK] - others)) * health[ON_DRUM]
    tension += max(0.0, BLOCK_STIFFNESS * (length - health[BLOCKED_AT])) * health[ON_DRUM]
    target = min(max(wanted, -health[CEILING]), health[CEILING]) * health[POWER]
    state[I] += (target - state[I]) * min(h / p[LAG], 1.0)
    drive = health[TORQUE] * state[I] - p[DIRECTION] * tension / p[FORCE]
    v = (state[V] + h * drive / p[MASS]) / (1.0 + h * p[VISCOUS] / p[MASS])
    dry = h * p[DRY] / p[MASS]
    v = max(v - dry, 0.0) if v > 0.0 else min(v + dry, 0.0)
    state[V] = 0.0 if health[LOCKED] else v
    state[X] += h * state[V]
    state[TENSION] = tension
