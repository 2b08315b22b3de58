"""Correspondences fixed before training, the paper's baseline (Figure 12): a simulated surface is drawn onto each scan.

Non-rigid registration with a robust distance, as Yao, Deng, Xu, Zhang: Quasi-Newton solver for robust non-rigid
registration, CVPR 2020, has it. Their surface is a mesh with an affine map at each node; ours a B-spline, whose control
points move by offsets d that minimise

    Σ ψ(|x + A d − y|) + k |D d|²,   ψ(r) = ν² (1 − exp(−r²/2ν²)) (Welsch's),

x being points of the simulated surface, y the nearest of the scan and D second differences. Each round finds nearest
points anew and solves the least squares whose weights are exp(−r²/2ν²), as theirs does; ν falls from the median
distance to that of the scan's points from each other, so that points opposite holes, which are far from all, are left
to D.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import diags
from scipy.spatial import cKDTree

from soft_twin.learning.correction import COMPARED, MM, Correction, ShapeModel
from soft_twin.learning.frames import Recording
from soft_twin.learning.input_map import InputMap
from soft_twin.learning.knots import Knots
from soft_twin.learning.layer import grid
from soft_twin.learning.losses import Cloud
from soft_twin.learning.matching import MarkerMatch
from soft_twin.learning.surfaces import design, differences
from soft_twin.learning.teaching import Lesson, Seen
from soft_twin.learning.training import WarpTraining, Weights
from soft_twin.parallel import Say

ROUNDS = 30
STIFFNESS = 0.01  # k, against the mean of the points


def learn_warp_by_registration(
    shapes: ShapeModel,
    recording: Recording,
    robot,
    training: WarpTraining,
    inputs: InputMap | None = None,
    say: Say | None = None,
) -> Correction:
    """As `learn_warp`, with points of the registered surfaces as if they were markers, all of them seen.

    Raises:
        ConvergenceError: training diverges.
    """
    uv, shares = grid(COMPARED), shapes.inputs_of(recording.pressures)
    control = np.asarray(jax.jit(jax.vmap(shapes.control_of))(shares), float)
    drawn = []
    for number, (own, scan) in enumerate(zip(control, recording.scans, strict=True), 1):
        drawn.append(registered(own, shapes.knots, MM * scan.points, uv))
        if say is not None:
            say(f"registering: frame {number} of {len(control)}")
    points = jnp.asarray(np.array(drawn), jnp.float32)
    clouds = Cloud(points, jnp.zeros_like(points), jnp.ones(points.shape[:2]))
    lesson = Lesson(Seen(recording.pressures, recording.held, clouds, recording.digest), MarkerMatch(clouds), uv)
    weights = training.weights or Weights(watched=shapes.patch)
    return lesson.learn(shapes, robot, replace(training, weights=weights), inputs, say)


def registered(
    control: np.ndarray, knots: Knots, scan: np.ndarray, uv: np.ndarray, stiffness: float = STIFFNESS
) -> np.ndarray:
    """(p, 3) where points of a surface lie that is drawn onto a scan.

    Args:
        control: (Mu, Mv, 3) of the surface.
        knots: of the surface.
        scan: (k, 3) points, in the surface's unit.
        uv: (p, 2) parameters of its points.
        stiffness: k.
    """
    A, D, tree = design(uv, knots), differences(knots), cKDTree(scan)
    spacing = float(np.median(tree.query(scan, 2)[0][:, 1]))
    smooth = stiffness * D.T @ D
    start = A @ control.reshape(-1, 3)
    points, width = start, None
    for _ in range(ROUNDS):
        distances, nearest = tree.query(points)
        width = max(float(np.median(distances)) if width is None else 0.7 * width, spacing)
        weights = np.exp(-0.5 * (distances / width) ** 2)
        weighted = A.T @ diags(weights / len(uv))
        offsets = cho_solve(cho_factor((weighted @ A + smooth).toarray()), weighted @ (scan[nearest] - start))
        points = start + A @ offsets
    return points
