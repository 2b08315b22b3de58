"""Beside SOFA: steps of the slender robot of linear tetrahedra, ours and SOFA's in turn, in one process on one thread.

Both have the same mesh, corotational material, nodal masses and clamped nodes, and are told the same gravity, which
swings as for a control tick's measurement. A static step is one Newton step from where the body is; a time step is
linearly implicit Euler. Times are the process's processor time, in which others' load counts little. Each takes a run
of steps before it is the other's turn, so that it has its caches as in a loop of its own; step by step in turn, each
finds the other's data in them, which costs the faster one more.

Where we take a tetrahedron's rotation from the polar decomposition of its deformation gradient, SOFA takes it from a
frame along three of its edges (method `large`, as in most scenes) or from those edges' own polar decomposition
(`polar`); its stiffness leaves out how the rotation changes.
"""

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import atexit  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

from soft_twin import load_robot  # noqa: E402
from soft_twin.app.measuring import Figure  # noqa: E402
from soft_twin.errors import ConvergenceError, UsageError  # noqa: E402
from soft_twin.mechanics.loads.loads import Gravity  # noqa: E402
from soft_twin.mechanics.model import Increment, Model  # noqa: E402
from soft_twin.robots.cable_tube import CableTube  # noqa: E402
from soft_twin.robots.sofa import build_sofa_scene  # noqa: E402
from soft_twin.solvers.equilibrium import equilibrium, minimise  # noqa: E402
from soft_twin.solvers.time.integrators import BackwardEuler  # noqa: E402
from soft_twin.twins.sofa.worker import ACTUATORS, INVERSE, PLUGINS, Scene, load  # noqa: E402

ELEMENT, LAW = "tet4", "corotational"
TIME_STEP = 0.01  # [s]
WARM_UP = 5  # steps that are not counted
RUN = 20  # steps of one before it is the other's turn
SWING = 400  # steps in which gravity turns from along the body to against it and back
SIDEWAYS = np.array([0.0, -9.81, 0.0])
AT_REST = 1e-9  # [m] movement of a node in a Newton step, below which SOFA's body is in equilibrium
MOST_STEPS = 1000
PRETENSION = 0.05  # [N] of each cable, in SOFA's forward steps
TARGET, LARGEST_STEP = (0.0, 0.0, 0.097), 0.005  # of the tip, of a node in a step with cables [m]
MODULES = (
    "Constraint.Projective",
    "LinearSolver.Direct",
    "Mass",
    "ODESolver.Backward",
    "SolidMechanics.FEM.Elastic",
    "StateContainer",
    "Topology.Container.Constant",
)
SCALARS = "CompressedRowSparseMatrixd"  # the matrix of SparseLDLSolver, unless told otherwise
BLOCKS = "CompressedRowSparseMatrixMat3x3d"  # the faster one

STATIC = {
    "NewtonRaphsonSolver": {
        "maxNbIterationsNewton": 1,
        "relativeSuccessiveStoppingThreshold": 0.0,
        "relativeInitialStoppingThreshold": 0.0,
        "absoluteResidualStoppingThreshold": 0.0,
        "warnWhenLineSearchFails": False,
        "warnWhenDiverge": False,
    },
    "StaticSolver": {},
}
EULER = {"EulerImplicitSolver": {"rayleighMass": 0.0, "rayleighStiffness": 0.0}}

Step = Callable[[np.ndarray], object]
Components = dict[str, dict[str, Any]]


def measure(repeats: int = 400) -> list[Figure]:
    """Median times of `repeats` steps of each, and how far apart the equilibria are.

    Raises:
        UsageError: SOFA's Python cannot be imported.
    """
    load_sofa()
    robot = load_robot("slender")
    return [
        Figure("load", f"load of {os.cpu_count()} processors before the first row", os.getloadavg()[0]),
        *_static_steps(robot, repeats),
        *_time_steps(robot, repeats),
        *_equilibria(robot),
    ]


def load_sofa() -> None:
    """Import SOFA and the modules of it that are used here.

    Raises:
        UsageError: it cannot be imported.
    """
    try:
        import SofaRuntime
    except ImportError as error:
        raise UsageError(
            f"bench sofa compares with SOFA, whose Python cannot be imported ({error}): build SOFA with SofaPython3 "
            "for this Python, set SOFA_ROOT to its folder and add lib/python3/site-packages of it to PYTHONPATH; see "
            "docs/performance.md, Beside SOFA"
        ) from error
    atexit.register(_leave_standard_output)
    for module in MODULES:
        SofaRuntime.importPlugin(f"Sofa.Component.{module}")


def _leave_standard_output() -> None:
    """What SOFA says when the process ends would follow the table's last line: let it go to standard error."""
    sys.stdout.flush()
    os.dup2(2, 1)


def _static_steps(robot: CableTube, repeats: int) -> list[Figure]:
    cells = len(robot.build_model(element=ELEMENT).body.mesh.cells)
    ours, theirs = _newton_step(robot), SofaBody(robot, STATIC).step
    with_cables, tick = _cable_step(robot), _control_tick(robot)
    scalars = SofaBody(robot, STATIC, matrix=SCALARS).step
    steps = {"ours": ours, "sofa": theirs, "cables": with_cables, "scalars": scalars, "tick": tick}
    steps |= {"reuse": _control_tick(robot, reuse=True), **_their_ticks(robot)}
    times, cold = alternately(steps, repeats), alternately({"ours": ours, "sofa": theirs}, repeats // 2, run=1)
    return [
        Figure("newton.ours_ms", f"static Newton step, {cells} {ELEMENT}: ours", times["ours"], "ms", "<= 8"),
        Figure("newton.cables_ms", "  ours with the sensitivities to six cables", times["cables"], "ms", "<= 8"),
        Figure("newton.scalars_ms", "  SOFA's StaticSolver, SparseLDLSolver as it comes", times["scalars"], "ms"),
        Figure("newton.scalars_ratio", "    over ours", times["scalars"] / times["ours"], "", ">= 5"),
        Figure("newton.sofa_ms", "  the same with a matrix of 3 x 3 blocks", times["sofa"], "ms"),
        Figure("newton.ratio", "    over ours", times["sofa"] / times["ours"], "", ">= 5"),
        Figure("newton.cold_ours_ms", "  step by step in turn: ours", cold["ours"], "ms"),
        Figure("newton.cold_sofa_ms", "    SOFA's, blocks", cold["sofa"], "ms"),
        Figure("newton.cold_ratio", "    over ours", cold["sofa"] / cold["ours"]),
        Figure("tick.ours_ms", "control tick, ours, inverse", times["tick"], "ms", "<= 8"),
        Figure("tick.reuse_ms", "  with reuse", times["reuse"], "ms", "<= 1.4"),
        *_ticks_beside(times),
    ]


def _ticks_beside(times: dict[str, float]) -> list[Figure]:
    """SOFA's ticks with cables over ours, where it has the plugins."""
    figures = []
    if "forward" in times:
        figures += [
            Figure("forward.sofa_ms", "  SOFA's step with six cables of given tensions", times["forward"], "ms"),
            Figure(
                "forward.ratio",
                "    over ours with their sensitivities",
                times["forward"] / times["cables"],
                "",
                ">= 5",
            ),
        ]
    if "inverse" in times:
        figures += [
            Figure("inverse.sofa_ms", "  SOFA's own inverse, QPInverseProblemSolver", times["inverse"], "ms"),
            Figure("inverse.ratio", "    over ours", times["inverse"] / times["tick"], "", ">= 6"),
            Figure("inverse.reuse_ratio", "    over ours with reuse", times["inverse"] / times["reuse"], "", ">= 24"),
        ]
    return figures or [
        Figure("tick.ratio", "  SOFA's static step, without cables, over it", times["sofa"] / times["tick"])
    ]


def _time_steps(robot: CableTube, repeats: int) -> list[Figure]:
    times = alternately({"ours": _euler_step(robot), "sofa": SofaBody(robot, EULER).step}, repeats)
    return [
        Figure("euler.ours_ms", "implicit Euler step, 10 ms, linearly implicit: ours", times["ours"], "ms", "<= 6"),
        Figure("euler.sofa_ms", "  SOFA's EulerImplicitSolver, 3 x 3 blocks", times["sofa"], "ms"),
        Figure("euler.ratio", "    over ours", times["sofa"] / times["ours"], "", ">= 5"),
    ]


def alternately(steps: dict[str, Step], repeats: int, run: int = RUN) -> dict[str, float]:
    """Median processor time [ms] of each step while gravity swings, taken in turn, `run` at a time."""
    times = {name: [] for name in steps}
    for first in range(0, WARM_UP + repeats, run):
        for name, step in steps.items():
            times[name] += [_processor_time(step, i) for i in range(first, first + run)]
    return {name: float(np.median(values[WARM_UP:])) for name, values in times.items()}


def _processor_time(step: Step, i: int) -> float:
    """Of the i-th step [ms]."""
    angle = 0.5 * np.pi * np.cos(2.0 * np.pi * i / SWING)
    gravity = -9.81 * np.array([0.0, np.cos(angle), np.sin(angle)])
    start = time.process_time()
    step(gravity)
    return 1e3 * (time.process_time() - start)


def _equilibria(robot: CableTube) -> list[Figure]:
    """Under gravity sideways, from the undeformed body."""
    body = robot.build_model(element=ELEMENT, material=LAW).body
    own = equilibrium(Model(body, [Gravity(SIDEWAYS)]))
    figures = [
        Figure("sag.ours_mm", "tip's sag under gravity sideways: ours", _sag(robot, own.pose.points), "mm"),
        Figure("sag.ours_steps", "  Newton steps to it", own.iterations),
    ]
    for rotation in ("polar", "large"):
        theirs = SofaBody(robot, STATIC, rotation)
        steps = theirs.settle(SIDEWAYS)
        apart = 1e3 * float(np.linalg.norm(theirs.points - own.pose.points, axis=1).max())
        figures += [
            Figure(f"sag.sofa_{rotation}_mm", f"  SOFA's, method {rotation}", _sag(robot, theirs.points), "mm"),
            Figure(f"sag.{rotation}_apart_mm", "    from ours: largest of all nodes", apart, "mm"),
            Figure(f"sag.sofa_{rotation}_steps", "    Newton steps to it", steps),
        ]
    return figures


def _sag(robot: CableTube, points: np.ndarray) -> float:
    """Of the tip [mm]."""
    twin = robot.build_twin(element=ELEMENT)
    twin.points = points
    return -1e3 * float(twin.tip[1])


def _newton_step(robot: CableTube) -> Step:
    """Ours: forces and stiffness, factorisation, one right-hand side."""
    gravity = Gravity()
    model = Model(robot.build_model(element=ELEMENT, material=LAW).body, [gravity])
    poses = [model.rest]

    def step(vector: np.ndarray) -> None:
        gravity.vector = vector
        poses[0] = minimise(model, poses[0], Increment(), steps=1).pose

    return step


def _cable_step(robot: CableTube) -> Step:
    """Ours with six slack cables: seven right-hand sides."""
    twin = robot.build_twin(element=ELEMENT, material=LAW)
    return lambda gravity: twin.advance(twin.linearise(gravity), twin.tensions, LARGEST_STEP)


def _their_ticks(robot: CableTube) -> dict[str, Step]:
    """SOFA's steps with six cables, forward and inverse, where it has the plugins SoftRobots and SoftRobots.Inverse."""
    model, scene = build_sofa_scene(robot, robot.build_mesh(element=ELEMENT), LAW)
    tensions, coordinates = (np.column_stack([each.low, each.high]) for each in robot.limits())
    poses = {"points": model.body.mesh.nodes, "masses": scene.arrays["masses"]}
    ticks: dict[str, Step] = {}
    try:
        load([*PLUGINS, ACTUATORS])
        forward = Scene(scene.values, scene.arrays, has_inverse=False)
        forward.step([0.0, 0.0, 0.0], np.full(len(tensions), PRETENSION), poses)
        ticks["forward"] = forward.go_on
        load([INVERSE])
        inverse = Scene(scene.values, scene.arrays, has_inverse=True)
        inverse.solve([0.0, 0.0, 0.0], np.array(TARGET), np.hstack([tensions, coordinates]), poses)
        ticks["inverse"] = inverse.go_on
    except ImportError as error:
        print(f"bench sofa: SOFA's steps with cables are left out: {error}", file=sys.stderr)
    return ticks


def _control_tick(robot: CableTube, reuse: bool = False) -> Step:
    """Ours: the cables hold the tip."""
    controller = robot.build_controller(robot.build_twin(element=ELEMENT, material=LAW), reuse)
    controller.enable(True)
    controller.set_target(TARGET)
    return controller.update


def _euler_step(robot: CableTube) -> Step:
    gravity = Gravity()
    model = Model(robot.build_model(element=ELEMENT, material=LAW).body, [gravity])
    moving = BackwardEuler(model, TIME_STEP, newton_steps=1)

    def step(vector: np.ndarray) -> None:
        gravity.vector = vector
        moving.step()

    return step


class SofaBody:
    """The robot's body as a scene of SOFA's.

    Attributes:
        points: (n, 3) positions of the nodes now [m].
    """

    def __init__(self, robot: CableTube, solver: Components, rotation: str = "large", matrix: str = BLOCKS):
        """`solver`: SOFA's components that solve, with their settings. `rotation`: SOFA's method of finding that of a
        tetrahedron."""
        import Sofa.Core
        import Sofa.Simulation

        body = robot.build_model(element=ELEMENT).body
        material = robot.body.material
        self._root = Sofa.Core.Node("root")
        self._root.dt.value = TIME_STEP
        parts = {
            "DefaultAnimationLoop": {"computeBoundingBox": False},
            **solver,
            "SparseLDLSolver": {"template": matrix},
            "MeshTopology": {"position": body.mesh.nodes.tolist(), "tetrahedra": body.mesh.cells.tolist()},
            "MechanicalObject": {"template": "Vec3d", "name": "nodes"},
            "TetrahedronFEMForceField": {
                "method": rotation,
                "youngModulus": material.young_modulus,
                "poissonRatio": material.poisson_ratio,
            },
            "DiagonalMass": {"vertexMass": body.lumped_masses().tolist()},
            "FixedProjectiveConstraint": {"indices": np.flatnonzero(body.place < 0).tolist()},
        }
        for name, settings in parts.items():
            self._root.addObject(name, **settings)
        Sofa.Simulation.initRoot(self._root)
        self._animate = Sofa.Simulation.animate

    @property
    def points(self) -> np.ndarray:
        return np.array(self._root.nodes.position.value)

    def step(self, gravity: np.ndarray) -> None:
        """One of the solver's steps under gravity (3,) [m/s²]."""
        self._root.gravity.value = gravity
        self._animate(self._root, TIME_STEP)

    def settle(self, gravity: np.ndarray) -> int:
        """Step until nothing moves any more; the number of steps.

        Raises:
            ConvergenceError: it does not come to rest.
        """
        for count in range(1, MOST_STEPS + 1):
            before = self.points
            self.step(gravity)
            moved = float(np.abs(self.points - before).max())
            if moved < AT_REST:
                return count
        raise ConvergenceError(f"SOFA's body still moves by {moved:.3g} m after {MOST_STEPS} steps")
