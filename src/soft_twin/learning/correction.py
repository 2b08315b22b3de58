"""A trained robot: pressures → its surface, simulated and corrected; stored as safetensors with what it belongs to."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from soft_twin.checks import checked_vector
from soft_twin.errors import InputError, RecordingError, UsageError
from soft_twin.files import checked_file, one_line
from soft_twin.learning.frames import Recording
from soft_twin.learning.input_map import InputMap, MarkerMatch, ScanMatch, fit_inputs
from soft_twin.learning.layer import SurfaceLayer, grid
from soft_twin.learning.losses import Cloud
from soft_twin.learning.networks import Folded
from soft_twin.learning.samples import Inflation
from soft_twin.learning.simulations import Simulations, SurfaceMesh, description_hash
from soft_twin.learning.surfaces import CONTROL_POINTS, SurfaceFit
from soft_twin.learning.training import EPOCHS, SHAPE_EPOCHS, Frames, Say, Weights, train_shapes, train_warp
from soft_twin.learning.warp import WIDTH, warped

MM = 1e3
VERSION = "2"
MAX_SIZE = 500_000_000  # [bytes]
SHOWN = 1024  # points that a correction returns
COMPARED = 900  # of a surface, with a scan
Surface = Callable[[jax.Array], jax.Array]


@dataclass(frozen=True)
class ShapeModel:
    """N_fk with what surrounds it: pressures → shares of inflation → control points (eq. 14).

    Attributes:
        limits: (a, 2) of the pressures [Pa].
        inflation: of the twin's chambers.
        network: shares −1…1 → offsets of the control points from their mean, over `spread`.
        mean: (Mu, Mv, 3) [mm].
        spread: [mm].
    """

    limits: np.ndarray
    inflation: Inflation
    network: Folded
    mean: np.ndarray
    spread: float

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
        """(Mu, Mv, 3) [mm] of shares of inflation (a,), −1…1."""
        return self.mean + self.spread * self.network(inputs).reshape(self.mean.shape)

    def surface(self, uv: np.ndarray) -> Surface:
        """Shares of inflation (a,), −1…1 → points (p, 3) [mm] at parameters (p, 2); differentiable."""
        layer = SurfaceLayer(uv, self.mean.shape[:2])
        return lambda inputs: layer.points(self.control_of(inputs))

    def inputs(self, pressures: jax.Array) -> jax.Array:
        """(a,) shares of inflation, −1…1."""
        volumes = self.inflation.volumes
        filled = ((volumes - volumes[0]) / (volumes[-1] - volumes[0])).astype(np.float32)
        known = self.inflation.pressures.astype(np.float32)
        shares = [jnp.interp(pressure, known, filled[:, i]) for i, pressure in enumerate(pressures)]
        return 2.0 * jnp.stack(shares) - 1.0

    def inputs_of(self, pressures: np.ndarray) -> jax.Array:
        """(f, a) shares of inflation of pressures (f, a) [Pa]."""
        return jax.jit(jax.vmap(self.inputs))(jnp.asarray(pressures, jnp.float32))

    def normalised(self, control: jax.Array) -> jax.Array:
        """(Mu Mv 3,) what N_rbf and N_conf are given."""
        return ((control - self.mean) / self.spread).reshape(-1)


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
    """

    robot: str
    shapes: ShapeModel
    inputs: InputMap
    warp: Folded
    kernels: np.ndarray
    width: float
    description: str
    data: str

    def __call__(self, pressures: np.ndarray, uv: np.ndarray | None = None) -> np.ndarray:
        """(p, 3) points [m] of the corrected surface at pressures (a,) [Pa], at parameters (p, 2), by default a grid.

        Raises:
            InputError: another number of pressures, or beyond their limits.
        """
        return self._evaluated(pressures, uv)[1]

    def simulated(self, pressures: np.ndarray, uv: np.ndarray | None = None) -> np.ndarray:
        """As a call, of the surface that is not corrected."""
        return self._evaluated(pressures, uv)[0]

    def check(self, robot) -> None:
        """Refuse a robot that this was not trained for.

        Raises:
            UsageError: its description is another.
        """
        if self.description != description_hash(robot):
            raise UsageError(
                f"these weights were trained for another description of '{self.robot}' than that of '{robot.name}' at "
                f"{robot.path}: train anew"
            )

    def function(self, uv: np.ndarray) -> Callable[[jax.Array], tuple[jax.Array, jax.Array]]:
        """Pressures (a,) [Pa] → points (p, 3) [mm] at parameters (p, 2), simulated and corrected; differentiable."""
        both = self._both(uv)
        return lambda pressures: both(self.shapes.inputs(pressures))

    def surface(self, uv: np.ndarray) -> Surface:
        """Shares of inflation (a,), −1…1 → corrected points (p, 3) [mm] at parameters (p, 2); differentiable."""
        both = self._both(uv)
        return lambda inputs: both(inputs)[1]

    def _both(self, uv: np.ndarray) -> Callable[[jax.Array], tuple[jax.Array, jax.Array]]:
        shape = self.shapes.mean.shape[:2]
        layer, centres = SurfaceLayer(uv, shape), SurfaceLayer(self.kernels, shape)

        def both(inputs: jax.Array) -> tuple[jax.Array, jax.Array]:
            control = self.shapes.control_of(self.inputs(inputs))
            coefficients = self.warp(self.shapes.normalised(control)).reshape(-1, 3)
            points, kernels = layer.points(control), centres.points(control)
            simulated = layer.points(self.shapes.control_of(inputs))
            return simulated, warped(points, kernels, coefficients, self.width, self.shapes.size)

        return both

    def _evaluated(self, pressures: np.ndarray, uv: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        pressures = self.shapes.checked(pressures)
        function = self._compiled(grid(SHOWN) if uv is None else np.asarray(uv, float))
        return tuple(np.asarray(each, float) / MM for each in function(jnp.asarray(pressures, jnp.float32)))

    def _compiled(self, uv: np.ndarray) -> Callable:
        """`function`, compiled once for the parameters that were asked for last."""
        key = uv.tobytes()
        if self._kept.get("uv") != key:
            self._kept.update(uv=key, function=jax.jit(self.function(uv)))
        return self._kept["function"]

    @cached_property
    def _kept(self) -> dict:
        return {}


def learn_shapes(
    simulations: Simulations,
    surface: SurfaceMesh,
    limits: np.ndarray,
    inflation: Inflation,
    layers: int,
    seed: int = 0,
    epochs: int = SHAPE_EPOCHS,
    say: Say | None = None,
) -> tuple[ShapeModel, float]:
    """N_fk of simulations, and its mean error on those that it was not trained on [mm].

    Raises:
        MeshError: the surface cannot be flattened.
        ConvergenceError: training diverges.
    """
    fit = SurfaceFit.at_rest(surface.points, surface.triangles, CONTROL_POINTS)
    control = MM * fit.fit(simulations.points)
    mean = control.mean(axis=0).astype(np.float32)
    offsets = (control - mean).reshape(len(control), -1)
    spread = float(offsets.std())
    draft = ShapeModel(limits, inflation, Folded([], []), mean, spread)
    inputs = np.asarray(draft.inputs_of(simulations.pressures))
    network, unseen = train_shapes(inputs, offsets / spread, layers, seed, epochs, say)
    found = mean + spread * np.asarray(network(inputs[unseen])).reshape(len(unseen), *mean.shape)
    errors = fit.at_points(found) - MM * simulations.points[unseen][:, fit.disc.source]
    return ShapeModel(limits, inflation, network, mean, spread), float(np.linalg.norm(errors, axis=-1).mean())


def learn_warp(
    shapes: ShapeModel,
    recording: Recording,
    robot,
    kernels: int,
    hidden: tuple[int, int],
    width: float = WIDTH,
    weights: Weights | None = None,
    seed: int = 0,
    epochs: int = EPOCHS,
    say: Say | None = None,
    inputs: InputMap | None = None,
) -> Correction:
    """The correction that a recording of scans teaches.

    Args:
        shapes: N_fk and what surrounds it.
        recording: of the robot.
        robot: whose it is.
        kernels: of the warp.
        hidden: layers of N_rbf and neurons of each.
        width: c [1/mm²].
        weights: of the losses; None: the paper's, with discs as wide as the samples are apart, and frames left out that
            say when the warp is trained enough.
        inputs: what the robot makes of its pressures; None: found by the recording, too.

    Raises:
        ConvergenceError: training diverges.
    """
    weights = weights or Weights(patch=shapes.patch, watched=shapes.patch)
    seen = Seen(recording.pressures, clouds_of(recording), recording.digest)
    match = ScanMatch(seen.clouds, shapes.patch)
    return learn(shapes, seen, match, robot, grid(COMPARED), kernels, hidden, width, weights, seed, epochs, say, inputs)


@dataclass(frozen=True)
class Seen:
    """What teaches a correction, of f frames.

    Attributes:
        pressures: (f, a) [Pa].
        clouds: scans, or markers in the order of the parameters where they sit.
        digest: SHA-256 of the recording.
    """

    pressures: np.ndarray
    clouds: Cloud
    digest: str


def learn(
    shapes: ShapeModel,
    seen: Seen,
    match: ScanMatch | MarkerMatch,
    robot,
    uv: np.ndarray,
    kernels: int,
    hidden: tuple[int, int],
    width: float,
    weights: Weights,
    seed: int,
    epochs: int,
    say: Say | None,
    inputs: InputMap | None,
) -> Correction:
    """As `learn_warp`, of what was seen, compared at parameters (p, 2) of the surface.

    Raises:
        ConvergenceError: training diverges.
    """
    shape, centres = shapes.mean.shape[:2], grid(kernels)
    layer, shares = SurfaceLayer(uv, shape), shapes.inputs_of(seen.pressures)
    if inputs is None:
        inputs = fit_inputs(lambda own: layer.points_and_normals(shapes.control_of(own)), shares, match, say)
    control = jax.jit(jax.vmap(lambda own: shapes.control_of(inputs(own))))(shares)
    frames = Frames(
        jax.vmap(shapes.normalised)(control),
        control,
        jax.vmap(SurfaceLayer(centres, shape).points)(control),
        seen.clouds,
        isinstance(match, MarkerMatch),
    )
    warp = train_warp(frames, layer, shapes.size, width, hidden, weights, seed, epochs, say)
    return Correction(robot.name, shapes, inputs, warp, centres, width, description_hash(robot), seen.digest)


def clouds_of(recording: Recording) -> Cloud:
    """The scans of a recording as arrays (f, k, …) [mm]; shorter ones are filled up with what is not there."""
    most = max(len(scan.points) for scan in recording.scans)
    there = np.zeros((len(recording.scans), most), np.float32)
    points, normals = np.zeros((2, *there.shape, 3), np.float32)
    for i, scan in enumerate(recording.scans):
        own = slice(len(scan.points))
        there[i, own], points[i, own], normals[i, own] = 1.0, MM * scan.points, scan.normals
    return Cloud(jnp.asarray(points), jnp.asarray(normals), jnp.asarray(there))


def save(correction: Correction, path: Path) -> None:
    """Write a correction as one safetensors file, as a whole or not at all.

    Raises:
        UsageError: it cannot be written.
    """
    shapes, path = correction.shapes, Path(path)
    arrays = {
        "limits": shapes.limits,
        "inflation.pressures": shapes.inflation.pressures,
        "inflation.volumes": shapes.inflation.volumes,
        "mean": shapes.mean,
        "kernels": correction.kernels,
        "inputs": np.asarray(correction.inputs.coefficients),
        **_layers("shape", shapes.network),
        **_layers("warp", correction.warp),
    }
    words = {"robot": correction.robot, "description": correction.description, "data": correction.data}
    smooth = {"shape": shapes.network.smooth, "warp": correction.warp.smooth}
    numbers = {"spread": shapes.spread, "width": correction.width, "smooth": smooth}
    partial = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        save_file(
            {key: np.ascontiguousarray(each) for key, each in arrays.items()},
            partial,
            {"soft_twin": VERSION, **words, "numbers": json.dumps(numbers)},
        )
        partial.replace(path)
    except OSError as error:
        raise UsageError(f"cannot write the weights '{path}': {error.strerror}") from error


def load(path: str | Path) -> Correction:
    """A stored correction.

    Raises:
        UsageError: there is no such file.
        RecordingError: it is none of these, or broken.
    """
    checked_file(path, "file of weights", MAX_SIZE, UsageError)
    try:
        with safe_open(path, "numpy") as stream:
            words = stream.metadata() or {}
            arrays = {key: stream.get_tensor(key) for key in stream.keys()}  # noqa: SIM118 (it is no mapping)
        if words["soft_twin"] != VERSION:
            raise RecordingError(f"{path}: weights of version {words['soft_twin']}, expected {VERSION}")
        numbers = json.loads(words["numbers"])
        inflation = Inflation(arrays["inflation.pressures"], arrays["inflation.volumes"])
        shapes = ShapeModel(
            arrays["limits"], inflation, _network("shape", arrays, numbers), arrays["mean"], float(numbers["spread"])
        )
        warp, width = _network("warp", arrays, numbers), float(numbers["width"])
        inputs = InputMap(jnp.asarray(arrays["inputs"]))
        return Correction(
            words["robot"], shapes, inputs, warp, arrays["kernels"], width, words["description"], words["data"]
        )
    except (SafetensorError, KeyError, ValueError, TypeError, InputError) as error:
        raise RecordingError(f"{path}: not readable as weights of soft_twin: {one_line(error)}") from error


def _layers(name: str, network: Folded) -> dict[str, np.ndarray]:
    arrays = {f"{name}.weight.{i}": np.asarray(each) for i, each in enumerate(network.weights)}
    return arrays | {f"{name}.bias.{i}": np.asarray(each) for i, each in enumerate(network.biases)}


def _network(name: str, arrays: dict[str, np.ndarray], numbers: dict) -> Folded:
    count = sum(key.startswith(f"{name}.weight.") for key in arrays)
    if not count:
        raise KeyError(f"{name}.weight.0")
    layers = ([jnp.asarray(arrays[f"{name}.{kind}.{i}"]) for i in range(count)] for kind in ("weight", "bias"))
    return Folded(*layers, bool(numbers["smooth"][name]))
