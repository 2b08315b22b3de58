"""From simulations to what stands for them, and from what was seen of a robot to its correction."""

from dataclasses import dataclass, replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from soft_twin.learning.correction import COMPARED, MM, Correction, ShapeModel, control_of
from soft_twin.learning.frames import Recording, Scan
from soft_twin.learning.identity import description_hash
from soft_twin.learning.input_fit import fit_inputs
from soft_twin.learning.input_map import InputMap
from soft_twin.learning.layer import SurfaceLayer, grid
from soft_twin.learning.losses import Cloud
from soft_twin.learning.matching import MarkerMatch, Match, ScanMatch
from soft_twin.learning.networks import Folded
from soft_twin.learning.samples import Inflation
from soft_twin.learning.simulations import Simulations, SurfaceMesh
from soft_twin.learning.surfaces import CONTROL_POINTS, SurfaceFit
from soft_twin.learning.symmetry import symmetries
from soft_twin.learning.training import (
    SHAPE_EPOCHS,
    SHAPE_NEURONS,
    Frames,
    WarpTraining,
    Weights,
    parted,
    train_shapes,
    train_warp,
)
from soft_twin.parallel import Say

SHAPES_FOR_KNOTS = 64
MOST_POINTS = 1000  # of a scan, beyond which nothing is gained (the paper's Figure 13)


def learn_shapes(
    simulations: Simulations,
    surface: SurfaceMesh,
    inflation: Inflation,
    layers: int,
    seed: int = 0,
    epochs: int = SHAPE_EPOCHS,
    say: Say | None = None,
    neurons: int = SHAPE_NEURONS,
) -> tuple[ShapeModel, float]:
    """N_fk of simulations and of what they say by symmetry, and its mean error on those it was not trained on [mm].

    Raises:
        MeshError: the surface cannot be flattened.
        ConvergenceError: training diverges.
    """
    trained, _ = parted(len(simulations.points), np.random.default_rng(seed))
    fit = SurfaceFit.at_rest(surface.points, surface.triangles, CONTROL_POINTS)
    fit = fit.adapted(simulations.points[trained[:SHAPES_FOR_KNOTS]])
    control = MM * fit.fit(simulations.points)
    mean = control.mean(axis=0).astype(np.float32)
    offsets = (control - mean).reshape(len(control), -1)
    spread = float(offsets.std())
    draft = ShapeModel(inflation, Folded([], []), mean, spread, fit.knots)
    inputs = np.asarray(draft.inputs_of(simulations.pressures))
    alike = symmetries(surface.points, inputs, simulations.points)
    turned = [
        (each.inputs(inputs), (MM * fit.fit(each.shapes(simulations.points)) - mean).reshape(len(control), -1) / spread)
        for each in alike
    ]
    network, unseen = train_shapes(inputs, offsets / spread, layers, seed, epochs, say, turned, neurons)
    found = mean + spread * np.asarray(eqx.filter_jit(network)(inputs[unseen])).reshape(len(unseen), *mean.shape)
    errors = fit.at_points(found) - MM * simulations.points[unseen][:, fit.disc.source]
    exchanges = tuple(sorted({tuple(each.chambers.tolist()) for each in alike}))
    return replace(draft, network=network, symmetries=exchanges), float(np.linalg.norm(errors, axis=-1).mean())


def learn_warp(
    shapes: ShapeModel,
    recording: Recording,
    robot,
    training: WarpTraining,
    inputs: InputMap | None = None,
    say: Say | None = None,
) -> Correction:
    """The correction that a recording of scans teaches.

    Args:
        shapes: N_fk and what surrounds it.
        recording: of the robot.
        robot: whose it is; None: no description says it, and `Correction.check` refuses every robot.
        training: of the warp.
        inputs: what the robot makes of its pressures; None: found by the recording, too.

    Raises:
        ConvergenceError: training diverges.
    """
    weights = training.weights or Weights(patch=shapes.patch, watched=shapes.patch)
    seen = Seen(recording.pressures, recording.held, clouds_of(recording), recording.digest)
    lesson = Lesson(seen, ScanMatch(seen.clouds, shapes.patch), grid(COMPARED))
    return lesson.learn(shapes, robot, replace(training, weights=weights), inputs, say)


@dataclass(frozen=True)
class Seen:
    """What teaches a correction, of f frames.

    Attributes:
        pressures: (f, a) [Pa].
        held: (f,) how long they had stood [s]; None: not known.
        clouds: scans, or markers in the order of the parameters where they sit.
        digest: SHA-256 of the recording.
    """

    pressures: np.ndarray
    held: np.ndarray | None
    clouds: Cloud
    digest: str


@dataclass(frozen=True)
class Lesson:
    """What was seen, and how surfaces are compared with it.

    Attributes:
        seen: of f frames.
        match: its distance from surfaces.
        uv: parameters (p, 2) where they are compared.
    """

    seen: Seen
    match: Match
    uv: np.ndarray

    def learn(
        self, shapes: ShapeModel, robot, training: WarpTraining, inputs: InputMap | None, say: Say | None
    ) -> Correction:
        """As `learn_warp`.

        Raises:
            ConvergenceError: training diverges.
        """
        knots, centres, seen = shapes.knots, grid(training.kernels), self.seen
        layer, shares = SurfaceLayer(self.uv, knots), shapes.inputs_of(seen.pressures)
        if inputs is None:
            surface = _Surface(layer, shapes.network, shapes.mean, shapes.spread)
            inputs = fit_inputs(surface, shares, self.match, shapes.filling, seen.held, shapes.symmetries, say)
        kernels = SurfaceLayer(centres, knots)

        def simulated(own: jax.Array, held: jax.Array | None) -> tuple[jax.Array, jax.Array, jax.Array]:
            control = shapes.control_of(inputs(own, held))
            return shapes.normalised(control), control, kernels.points(control)

        simulations = jax.jit(jax.vmap(simulated))(shares, seen.held)
        frames = Frames(*simulations, seen.clouds, isinstance(self.match, MarkerMatch))
        warp, confidence = train_warp(frames, layer, shapes.size, training, say)
        name, description = ("", "") if robot is None else (robot.name, description_hash(robot))
        data = seen.digest
        return Correction(name, shapes, inputs, warp, centres, training.width, description, data, confidence)


class _Surface(eqx.Module):
    """Shares of inflation (a,) → points and normals (p, 3) of N_fk's surface [mm]; of one size, it is compiled once."""

    layer: SurfaceLayer
    network: Folded
    mean: np.ndarray
    spread: float = eqx.field(converter=np.float32)

    def __call__(self, inputs: jax.Array) -> tuple[jax.Array, jax.Array]:
        return self.layer.points_and_normals(control_of(self.network, self.mean, self.spread, inputs))


def clouds_of(recording: Recording) -> Cloud:
    """The scans of a recording as arrays (f, k, …) [mm]: not more than MOST_POINTS of each, drawn at random, always the
    same; shorter ones are filled up with what is not there."""
    scans = [thinned(scan, number) for number, scan in enumerate(recording.scans)]
    most = max(len(scan.points) for scan in scans)
    there = np.zeros((len(scans), most), np.float32)
    points, normals = np.zeros((2, *there.shape, 3), np.float32)
    for i, scan in enumerate(scans):
        own = slice(len(scan.points))
        there[i, own], points[i, own], normals[i, own] = 1.0, MM * scan.points, scan.normals
    return Cloud(jnp.asarray(points), jnp.asarray(normals), jnp.asarray(there))


def thinned(scan: Scan, seed: int = 0) -> Scan:
    """A scan of MOST_POINTS at the most. At random: what is noise stays as rare as it was."""
    if len(scan.points) <= MOST_POINTS:
        return scan
    rows = np.sort(np.random.default_rng(seed).choice(len(scan.points), MOST_POINTS, replace=False))
    return Scan(scan.points[rows], scan.normals[rows])
