"""A trained robot: pressures → its surface, simulated and corrected."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from soft_twin.checks import checked_kind, checked_numbers, checked_vector, in_words
from soft_twin.errors import InputError, UsageError
from soft_twin.learning.confidence import ConfidenceMap
from soft_twin.learning.identity import description_hash
from soft_twin.learning.input_map import Filling, InputMap
from soft_twin.learning.knots import Knots
from soft_twin.learning.layer import SurfaceLayer, grid
from soft_twin.learning.networks import Folded
from soft_twin.learning.samples import Inflation
from soft_twin.learning.warp import warped
from soft_twin.robots.base import Robot
from soft_twin.robots.fem_robot import FemRobot

MM = 1e3
SHOWN = 1024  # points that a correction returns
COMPARED = 900  # of a surface, with a scan
LAST = "last"  # parameters that were asked for, and the function for them
Surface = Callable[[jax.Array], jax.Array]


@dataclass(frozen=True)
class ShapeModel:
    """N_fk with what surrounds it: pressures → shares of inflation → control points (eq. 14).

    Attributes:
        inflation: of the twin's chambers.
        network: shares −1…1 → offsets of the control points from their mean, over `spread`.
        mean: (Mu, Mv, 3) [mm].
        spread: [mm].
        knots: of the surfaces.
        symmetries: chambers (a,) in the place of each, of every exchange under which the twin is the same.
    """

    inflation: Inflation
    network: Folded
    mean: np.ndarray
    spread: float
    knots: Knots
    symmetries: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self):
        """
        Raises:
            InputError: knots of another number of control points than the mean surface has.
        """
        if self.knots.shape != self.mean.shape[:2]:
            raise InputError(f"knots of {self.knots.shape} control points for a surface of {self.mean.shape[:2]}")

    @property
    def limits(self) -> np.ndarray:
        """(a, 2) of the pressures [Pa]."""
        return self.inflation.limits

    @property
    def size(self) -> float:
        """Of the mean surface [mm]."""
        return float(np.ptp(self.mean.reshape(-1, 3), axis=0).max())

    @property
    def patch(self) -> float:
        """Radius [mm] of discs that are as wide as the points are apart that are compared with a scan."""
        return 0.7 * self.size / float(np.sqrt(COMPARED))

    def checked(self, pressures: np.ndarray) -> np.ndarray:
        """(a,) pressures [Pa].

        Raises:
            InputError: another number of them, not finite, or beyond their limits.
        """
        pressures = checked_vector(pressures, len(self.limits), "pressures")
        low, high = self.limits.T
        slack = 1e-6 * (high - low)
        wrong = np.flatnonzero((pressures < low - slack) | (pressures > high + slack))
        if len(wrong):
            i = wrong[0]
            raise InputError(f"pressure {i + 1}: {pressures[i]:g} Pa is outside {low[i]:g}…{high[i]:g} Pa")
        return pressures

    def control(self, pressures: jax.Array) -> jax.Array:
        """(Mu, Mv, 3) [mm] of pressures (a,) [Pa]."""
        return self.control_of(self.inputs(pressures))

    def control_of(self, inputs: jax.Array) -> jax.Array:
        """(Mu, Mv, 3) [mm] of shares of inflation (a,), see the function of this name."""
        return control_of(self.network, self.mean, self.spread, inputs)

    def surface(self, uv: np.ndarray) -> Surface:
        """Shares of inflation (a,), −1…1 → points (p, 3) [mm] at parameters (p, 2); differentiable."""
        layer = SurfaceLayer(uv, self.knots)
        return lambda inputs: layer.points(self.control_of(inputs))

    @property
    def filling(self) -> Filling:
        """Of the twin's chambers."""
        return Filling.of(self.inflation)

    def inputs(self, pressures: jax.Array) -> jax.Array:
        """(a,) shares of inflation, −1…1 within the limits; beyond them they go on straight, as pressures do that a
        simulation by volume turned out to need."""
        return self.filling.shares_of(pressures / self.inflation.largest.astype(np.float32))

    def inputs_of(self, pressures: np.ndarray) -> jax.Array:
        """(f, a) shares of inflation of pressures (f, a) [Pa]."""
        return jax.jit(jax.vmap(self.inputs))(jnp.asarray(pressures, jnp.float32))

    def normalised(self, control: jax.Array) -> jax.Array:
        """(Mu Mv 3,) what N_rbf and N_conf are given."""
        return ((control - self.mean) / self.spread).reshape(-1)


def control_of(network: Folded, mean: np.ndarray, spread: float, inputs: jax.Array) -> jax.Array:
    """(Mu, Mv, 3) control points [mm] of shares of inflation (a,), see `ShapeModel`. Beyond −1…1, where nothing was
    simulated and a softer robot still goes, the network is continued along its tangent at the nearest share that it
    knows."""
    known = jnp.clip(inputs, -1.0, 1.0)
    offsets, further = jax.jvp(network, (known,), (inputs - known,))
    return mean + spread * (offsets + further).reshape(mean.shape)


@dataclass(frozen=True)
class Correction:
    """See the module's docstring; `correction(pressures)` are points (p, 3) [m] of the corrected surface, in base_link.

    Attributes:
        robot: its name.
        shapes: what stands for the simulations.
        inputs: what the robot makes of its pressures.
        warp: N_rbf.
        kernels: (N, 2) parameters of the warp's kernels.
        width: c [1/mm²].
        description: SHA-256 of the robot's description.
        data: SHA-256 of the recording.
        confidence: N_conf; None where correspondences were known, or all points believed.
    """

    robot: str
    shapes: ShapeModel
    inputs: InputMap
    warp: Folded
    kernels: np.ndarray
    width: float
    description: str
    data: str
    confidence: ConfidenceMap | None = None

    def __call__(self, pressures: np.ndarray, uv: np.ndarray | None = None, held: float | None = None) -> np.ndarray:
        """(p, 3) points [m] of the corrected surface at pressures (a,) [Pa], at parameters (p, 2), by default a grid,
        after the pressures have stood for so many seconds; None: as long as those of the frames, in the median.

        Raises:
            InputError: another number of pressures, or beyond their limits; parameters outside the unit square, or
                none; `held` is negative, not finite, or given where the frames did not tell it.
        """
        return self._evaluated(pressures, uv, self._seconds(held))[1]

    def simulated(self, pressures: np.ndarray, uv: np.ndarray | None = None) -> np.ndarray:
        """As a call, of the surface that is not corrected."""
        return self._evaluated(pressures, uv, None)[0]

    def confidence_at(self, pressures: np.ndarray, uv: np.ndarray | None = None) -> np.ndarray:
        """(p,) how much the points of a call are believed to be what a scanner sees there, 0…1 (N_conf).

        Raises:
            InputError: as a call; or there is no such network in these weights.
        """
        if self.confidence is None:
            raise InputError(
                "these weights have no confidence: they were learned from markers, or with all points believed"
            )
        inputs = self.inputs(self.shapes.inputs(jnp.asarray(self.shapes.checked(pressures), jnp.float32)))
        control = self.shapes.control_of(inputs)
        points = SurfaceLayer(_parameters(uv), self.shapes.knots).points(control)
        return np.asarray(self.confidence(2.0 * points / self.shapes.size, self.shapes.normalised(control)), float)

    def _seconds(self, held: float | None) -> float | None:
        """Seconds that pressures have stood.

        Raises:
            InputError: see a call.
        """
        if held is None:
            return None
        if self.inputs.reference is None:
            raise InputError(
                "held: the frames of these weights did not tell how long pressures had stood, or always as long"
            )
        seconds = checked_numbers(held, "seconds, 0 or more", "held")
        if seconds.shape or not 0.0 <= seconds < np.inf:
            raise InputError(f"held: {in_words(held)} s is not 0 or more")
        return float(seconds)

    def check(self, robot) -> None:
        """Refuse a robot that this was not trained for.

        Raises:
            InputError: it is none.
            UsageError: its description is another.
        """
        checked_kind(robot, Robot, "a robot, as load_robot(NAME) gives it", "robot")
        if not isinstance(robot, FemRobot) or self.description != description_hash(robot):
            raise UsageError(
                f"these weights were trained for another description of '{self.robot}' than that of '{robot.name}' at "
                f"{robot.path}: train anew"
            )

    def function(self, uv: np.ndarray) -> Callable[..., tuple[jax.Array, jax.Array]]:
        """Pressures (a,) [Pa], and how long they have stood [s] → points (p, 3) [mm] at parameters (p, 2), simulated
        and corrected; differentiable."""
        both = self._both(uv)
        return lambda pressures, held=None: both(self.shapes.inputs(pressures), held)

    def surface(self, uv: np.ndarray, held: float | None = None) -> Surface:
        """Shares of inflation (a,), −1…1 → corrected points (p, 3) [mm] at parameters (p, 2); differentiable.

        Raises:
            InputError: `held`, see a call.
        """
        both, held = self._both(uv), self._seconds(held)
        return lambda inputs: both(inputs, held)[1]

    def _both(self, uv: np.ndarray) -> Callable[..., tuple[jax.Array, jax.Array]]:
        knots = self.shapes.knots
        layer, centres = SurfaceLayer(uv, knots), SurfaceLayer(self.kernels, knots)

        def both(inputs: jax.Array, held: jax.Array | float | None) -> tuple[jax.Array, jax.Array]:
            control = self.shapes.control_of(self.inputs(inputs, held))
            coefficients = self.warp(self.shapes.normalised(control)).reshape(-1, 3)
            points, kernels = layer.points(control), centres.points(control)
            simulated = layer.points(self.shapes.control_of(inputs))
            return simulated, warped(points, kernels, coefficients, self.width, self.shapes.size)

        return both

    def _evaluated(
        self, pressures: np.ndarray, uv: np.ndarray | None, held: float | None
    ) -> tuple[np.ndarray, np.ndarray]:
        pressures = self.shapes.checked(pressures)
        function = self._compiled(_parameters(uv))
        return tuple(np.asarray(each, float) / MM for each in function(jnp.asarray(pressures, jnp.float32), held))

    def _compiled(self, uv: np.ndarray) -> Callable:
        """`function`, compiled once for the parameters that were asked for last, by whichever thread."""
        key = uv.tobytes()
        last, function = self._kept.get(LAST, (None, None))
        if last != key:
            function = jax.jit(self.function(uv))
            self._kept[LAST] = key, function
        return function

    @cached_property
    def _kept(self) -> dict[str, tuple[bytes, Callable]]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Without what was compiled, which cannot be pickled."""
        return {name: value for name, value in vars(self).items() if name != "_kept"}


def _parameters(uv: np.ndarray | None) -> np.ndarray:
    """(p, 2) in the unit square; None: those of a call.

    Raises:
        InputError: they are something else, or none.
    """
    if uv is None:
        return grid(SHOWN)
    expected = "parameters (p, 2)"
    found = checked_numbers(uv, expected, "uv")
    if found.ndim != 2 or found.shape[1] != 2 or not len(found):
        raise InputError(f"uv: expected {expected}, found {in_words(found)}")
    wrong = ~((found >= 0.0) & (found <= 1.0)).all(axis=1)
    if wrong.any():
        u, v = found[wrong][0]
        raise InputError(f"uv: {int(wrong.sum())} of {len(found)} are outside 0…1, the first at ({u:g}, {v:g})")
    return found
