"""The neck's kinematics, from pitch and roll to cables: constant curvature, finite elements, and these in a table; and
its plate held in closed loop, with payloads and tilted bases, on an emulated neck with two IMUs behind filters."""

import numpy as np

from soft_twin import load_robot
from soft_twin.app.measuring import Figure, time_calls
from soft_twin.inverse.plate import FemPlate
from soft_twin.inverse.plate_table import PlateTable
from soft_twin.robots.fem_robot import FemRobot
from soft_twin.studies.neck import LEFT_SLACK
from soft_twin.studies.neck_loop import NeckLoop, step_to
from soft_twin.twins.constant_curvature import ConstantCurvature

POSES, TOGETHER = 20_000, 1_000_000
LARGEST = 0.55  # [rad] of pitch and roll
TICKS, SPEED = 300, 0.01  # and how far a tick's target is from the last one's [rad]
EMPTY, THEN = [(20.0, 15.0), (-20.0, 10.0), (0.0, -22.0)], (-25.0, 10.0)  # [°] poses that are held: tared, and loaded
HELD = [(90.0, 0.1), (90.0, 1.0), (30.0, 0.5), (0.0, 1.0)]  # inclination of the base [°], payload [kg]
TARE = 2.5  # [s]
JUDGED = 40  # poses at which the table is compared with what it was made of


def measure() -> list[Figure]:
    """The rows for cables along arcs and along chords, and for finite elements."""
    robot = load_robot("neck")
    rows = [row for name in ("pcc_arc", "pcc_chord") for row in _kinematics(name, robot.build_twin(name))]
    fem, table = robot.build_twin("fem"), robot.build_twin("fem_table")
    return [*rows, *_fem(fem), *_table(table, fem), *_held(robot)]


def _kinematics(name: str, neck: ConstantCurvature) -> list[Figure]:
    poses = _poses(TOGETHER)
    one_by_one, wound = poses[:POSES].tolist(), neck.displacements(*poses[:POSES].T)
    single = time_calls(lambda i: neck.displacements(*one_by_one[i]), POSES)
    together = time_calls(lambda i: neck.displacements(*poses.T), 3)
    back = time_calls(lambda i: neck.orientation(wound[i]), POSES // 10)
    return [
        _median(f"{name}.ms", f"{name}: pitch and roll to cables, median", single, "<= 0.005"),
        Figure(f"{name}.p99_ms", "  99th percentile", float(np.percentile(single, 99)), "ms"),
        Figure(f"{name}.million_s", "  a million poses in one call", 1e-3 * float(np.median(together)), "s", "<= 1"),
        _median(f"{name}.back_ms", "  cables to orientation, median", back),
    ]


def _fem(fem: FemPlate) -> list[Figure]:
    """Ticks along a circle, whole solves from pose to pose."""
    angles = SPEED / LARGEST * np.arange(TICKS + 3)
    path = LARGEST * np.column_stack([np.cos(angles), np.sin(angles)])
    fem.solve(*path[0])
    ticks = time_calls(lambda i: fem.tick(*path[i]), TICKS)
    poses = _poses(23)
    solves = time_calls(lambda i: fem.solve(*poses[i]), 20)
    return [
        Figure("fem.unknowns", "fem: unknowns", fem.twin.model.unknowns.size),
        _median("fem.tick_ms", "  one tick of a moving target, median", ticks, "<= 8"),
        Figure("fem.tick_p99_ms", "  99th percentile", float(np.percentile(ticks, 99)), "ms"),
        _median("fem.solve_ms", "  whole solve from another pose, median", solves),
    ]


def _table(table: PlateTable, fem: FemPlate) -> list[Figure]:
    poses = _poses(POSES).tolist()
    wound = [table.displacements(*pose) for pose in poses[: POSES // 10]]
    off = [np.subtract(fem.orientation(table.displacements(*pose)), pose) for pose in poses[:JUDGED]]
    single = time_calls(lambda i: table.displacements(*poses[i]), POSES)
    back = time_calls(lambda i: table.orientation(wound[i]), POSES // 10)
    worst = float(np.degrees(np.hypot(*np.array(off).T)).max())
    return [
        _median("fem_table.ms", "fem_table: pitch and roll to cables, median", single, "<= 0.05"),
        Figure("fem_table.error_deg", "  largest error of the pose that fem then has", worst, "°", "<= 0.3"),
        _median("fem_table.back_ms", "  cables to orientation, median", back),
    ]


def _held(robot: FemRobot) -> list[Figure]:
    """The worst of the loops: IMUs aligned, steps and tares with nothing on the plate, and a step with the payload."""
    steps, off, found = [], [], []
    for inclination, payload in HELD:
        loop = NeckLoop(robot, robot.build_plate_holder("fem"), LEFT_SLACK, inclination)
        loop.align()
        for pose in EMPTY:
            steps.append(step_to(loop, *pose))
            loop.holder.tare()
            loop.run(TARE)
        loop.load(payload)
        steps.append(step_to(loop, *THEN))
        off.append(1e3 * abs(steps[-1].payload - payload) - max(20.0, 100.0 * payload))
        key, what = (
            f"held.{inclination:g}_{1e3 * payload:g}g",
            f"  {1e3 * payload:g} g, base at {inclination:g}°: found",
        )
        found.append(Figure(key, what, 1e3 * steps[-1].payload, "g"))
    return [
        Figure("held.steady_deg", "held, worst: plate from its target", max(s.steady for s in steps), "°", "<= 0.3"),
        Figure("held.settling_s", "  settling", max(step.settling for step in steps), "s", "<= 1.5"),
        Figure("held.overshoot", "  overshoot", 100.0 * max(step.overshoot for step in steps), "%", "<= 5"),
        Figure("held.payload_g", "  payload, beyond 20 g or a tenth", max(off), "g", "<= 0"),
        *found,
    ]


def _poses(count: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(-LARGEST, LARGEST, (count, 2))


def _median(key: str, what: str, times: np.ndarray, reach: str = "") -> Figure:
    return Figure(key, what, float(np.median(times)), "ms", reach)
