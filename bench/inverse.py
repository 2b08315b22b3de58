"""The inverse on every robot with a body: targets made from feasible efforts, its answer against the loop's, its ticks.

A target is where the tip of an equilibrium is, under gravity in any direction and random efforts within their limits,
with half of the actuators idle. None of them may be called unreachable. The loop, settled at such a target, is given
another gravity at once: it may not go to and fro; or another target that feasible efforts make 10 mm away. Also the
cold equilibrium of a body with a rigid plate and three cables outside it, as a neck has, and steps in time that are not
solved to their end.
"""

import argparse
import contextlib
import os
import time
from collections.abc import Callable, Iterator

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import numpy as np  # noqa: E402

from soft_twin import load_robot  # noqa: E402
from soft_twin.app.measuring import Figure, time_calls  # noqa: E402
from soft_twin.errors import ConvergenceError, UsageError  # noqa: E402
from soft_twin.inverse.inverse import Inverse, Solution  # noqa: E402
from soft_twin.mechanics.actuators.cables import CableActuators  # noqa: E402
from soft_twin.mechanics.body import Body, Material  # noqa: E402
from soft_twin.mechanics.cables import Cables  # noqa: E402
from soft_twin.mechanics.constraints import RigidPlate  # noqa: E402
from soft_twin.mechanics.loads import Gravity  # noqa: E402
from soft_twin.mechanics.materials import energy_named  # noqa: E402
from soft_twin.mechanics.model import Model  # noqa: E402
from soft_twin.mesh.generate.voxels import voxel_mesh  # noqa: E402
from soft_twin.parallel import terminal_progress, time_left  # noqa: E402
from soft_twin.twins.finite_element import FemTwin  # noqa: E402

BODIES = ("slender", "rod", "finger", "arm")
TICKED = {"finger": "<= 10", "arm": "<= 25"}  # [ms]
GRAVITY = 9.81  # [m/s²]
SHARE = 0.6  # of the highest effort, at the most
IDLE = 0.5  # of the actuators
TICKS = 60
SETTLING, JUDGED, AT_REST = 100, 20, 2e-5  # ticks for a jump, of which so many at the end count; [m] a tick
AWAY, NEAR = 0.01, 5e-4  # [m] of another target, and how near the tip has to come to it
RESTED, FOLLOWED = 60, 60  # ticks at a target, and for the next one
ATTITUDES = (135.0, 90.0, 45.0, 0.0, -45.0)  # [°] of the base, see the paper's Figure 11
LENGTH, WIDTH, ARM = 0.1, 0.03, 0.05  # [m] of the neck-like body, and from its axis to its cables


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this benchmark."""
    parser.add_argument("--targets", type=int, default=20, metavar="N", help="of each body; default 20, in full 1000")
    parser.add_argument("--jumps", type=int, metavar="N", help="of each robot's gravity; default: as many as targets")
    parser.add_argument(
        "--bodies", default=",".join(BODIES), metavar="NAMES", help=f"which of {', '.join(BODIES)}; default: all"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the targets; default 0")


def measure(targets: int = 20, jumps: int | None = None, bodies: str = ",".join(BODIES), seed: int = 0) -> list[Figure]:
    """Figures of each body, and where all are asked for, of the neck-like one and of steps in time.

    Raises:
        UsageError: another body.
    """
    names = [name.strip() for name in bodies.split(",")]
    if unknown := [name for name in names if name not in BODIES]:
        raise UsageError(f"--bodies: '{unknown[0]}' is none of {', '.join(BODIES)}")
    inverses = {name: _inverse(name) for name in names}
    figures = [figure for name, each in inverses.items() for figure in _reached(name, each, targets, seed)]
    robots = {name: each for name, each in inverses.items() if name != "rod"}
    count = targets if jumps is None else jumps
    figures += [figure for name, each in robots.items() if count for figure in _jumps(name, each, count, seed)]
    figures += [figure for name, each in robots.items() if count for figure in _warm_starts(name, each, count, seed)]
    figures += [figure for name in robots if name in TICKED for figure in _ticks(name, inverses[name].twin)]
    if set(names) != set(BODIES):
        return figures
    slender = load_robot("slender")
    return [*figures, *_same_answers(slender), *_neck(), *_single_steps(slender)]


def _inverse(name: str) -> Inverse:
    """That of a robot, or of the slender one as a rod."""
    robot = load_robot("slender" if name == "rod" else name)
    return robot.build_inverse(robot.build_twin(backend="rod")) if name == "rod" else robot.build_inverse()


def _reached(name: str, inverse: Inverse, targets: int, seed: int) -> list[Figure]:
    """How many feasible targets are not reached, and how far the worst of them is."""
    solutions, start = [], time.monotonic()
    with contextlib.suppress(KeyboardInterrupt):  # what is done counts
        for gravity, target, _ in _feasible(inverse, targets, seed):
            inverse.twin.reset()
            solutions.append(inverse.solve(gravity, target))
            _progress(name, len(solutions), targets, time.monotonic() - start)
    missed = [1e3 * solution.error for solution in solutions]
    return [
        Figure(f"{name}.targets", f"{name}: targets made from feasible efforts", len(solutions), "", ">= 1000"),
        Figure(f"{name}.unreachable", "  called unreachable", sum(not s.reachable for s in solutions), "", "0"),
        Figure(f"{name}.unsettled", "  not converged", sum(not s.converged for s in solutions), "", "0"),
        Figure(f"{name}.worst_mm", "  worst tip error", max(missed, default=np.nan), "mm"),
        Figure(f"{name}.iterations", "  linearisations: median", _median_iterations(solutions)),
    ]


def _jumps(name: str, inverse: Inverse, count: int, seed: int) -> list[Figure]:
    """How many jumps of gravity the loop, which holds a target and reuses factorisations every other time, does not
    settle after."""
    controller, rng = load_robot(name).build_controller(inverse.twin), np.random.default_rng(seed)
    settled, start = [], time.monotonic()
    controller.enable(True)
    upright = np.array(controller.target)
    with contextlib.suppress(KeyboardInterrupt):
        for i, (gravity, target, _) in enumerate(_feasible(inverse, count, seed)):
            controller.reset()
            controller.reuse = i % 2 == 0
            controller.set_target(target if i % 4 < 2 else upright)
            for _ in range(SETTLING):
                controller.update(gravity)
            other = rng.normal(size=3)
            other *= GRAVITY / np.linalg.norm(other)
            moved = np.linalg.norm(np.diff([controller.update(other).tip for _ in range(SETTLING)], axis=0), axis=1)
            late = np.flatnonzero(moved > AT_REST)
            settled.append(int(late[-1]) + 2 if len(late) else 1)
            _progress(f"{name}, jumps", len(settled), count, time.monotonic() - start)
    return [
        Figure(f"{name}.jumps", f"{name}: jumps of gravity", len(settled)),
        Figure(f"{name}.restless", "  after which it goes on", sum(n > SETTLING - JUDGED for n in settled), "", "0"),
        Figure(f"{name}.settled_ticks", "  ticks until it did: median", float(np.median(settled or [np.nan]))),
    ]


def _warm_starts(name: str, inverse: Inverse, count: int, seed: int) -> list[Figure]:
    """How many ticks the loop, which has rested at a target, needs to one 10 mm away; with reuse every other time."""
    controller, ticks, start = load_robot(name).build_controller(inverse.twin), [], time.monotonic()
    controller.enable(True)
    with contextlib.suppress(KeyboardInterrupt):
        for i, (gravity, target, other) in enumerate(_feasible(inverse, count, seed, AWAY)):
            controller.reset()
            controller.reuse = i % 2 == 0
            controller.set_target(target)
            for _ in range(RESTED):
                controller.update(gravity)
            controller.set_target(other)
            late = np.flatnonzero([controller.update(gravity).error > NEAR for _ in range(FOLLOWED)])
            ticks.append(int(late[-1]) + 2 if len(late) else 1)
            _progress(f"{name}, warm starts", len(ticks), count, time.monotonic() - start)
    return [
        Figure(f"{name}.warm_starts", f"{name}: targets 10 mm from where it rests", len(ticks)),
        Figure(f"{name}.warm_ticks", "  ticks to 0.5 mm: median", float(np.median(ticks or [np.nan])), "", "<= 4"),
        Figure(f"{name}.warm_worst", "  at most", max(ticks, default=np.nan)),
    ]


def _feasible(
    inverse: Inverse, count: int, seed: int, away: float = 0.0
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Gravity (3,) [m/s²], tips (3,) [m] of equilibria that keep to the limits, and others so far `away` [m]."""
    rng, twin = np.random.default_rng(seed), inverse.twin
    (low, high), (lowest, highest) = inverse.limits[0].efforts(twin), inverse.limits[1].coordinates(twin)

    def tip(efforts: np.ndarray) -> np.ndarray | None:
        """(3,) None where it is not feasible."""
        try:
            found = twin.equilibrium(gravity, efforts=efforts)
        except ConvergenceError:  # such as a body that balloons
            return None
        return found.tip if (found.coordinates > lowest).all() and (found.coordinates < highest).all() else None

    def random() -> np.ndarray:
        works = rng.random(len(low)) > IDLE
        return low + SHARE * (high - low) * rng.random(len(low)) * works

    while count:
        gravity = rng.normal(size=3)
        gravity *= GRAVITY / np.linalg.norm(gravity)
        efforts = random()
        if (target := tip(efforts)) is None:
            continue
        other = target if away == 0.0 else _tip_at(tip, efforts, random(), away)
        if other is not None:
            count -= 1
            yield gravity, target, other


def _tip_at(
    tip: Callable[[np.ndarray], np.ndarray | None], start: np.ndarray, end: np.ndarray, away: float
) -> np.ndarray | None:
    """(3,) a tip so far away [m], to a twentieth, from that of efforts `start` (a,), on the way to those of `end`."""
    here, share = tip(start), 1.0
    for _ in range(6):
        there = tip(start + share * (end - start))
        if there is None:
            return None
        distance = np.linalg.norm(there - here)
        if abs(distance - away) < 0.05 * away:
            return there
        share *= away / max(distance, 1e-9)
        if share > 1.0:
            return None
    return None


def _median_iterations(solutions: list[Solution]) -> float:
    return float(np.median([solution.iterations for solution in solutions])) if solutions else np.nan


def _ticks(name: str, twin: FemTwin) -> list[Figure]:
    """One tick of the control loop, each with a fresh factorisation, while gravity swings."""
    controller = load_robot(name).build_controller(twin)
    controller.reset()
    controller.enable(True)

    def tick(i: int) -> None:
        angle = 2.0 * np.pi * i / TICKS
        controller.update(GRAVITY * np.array([0.3 * np.cos(angle), 0.3 * np.sin(angle), -0.954]))

    times = time_calls(tick, TICKS, warm_up=10)
    reach = TICKED[name]
    size = twin.model.unknowns.size
    return [
        Figure(f"{name}.tick_ms", f"{name}: control tick, {size} unknowns: median", np.median(times), "ms", reach),
        Figure(f"{name}.tick_p99_ms", "  99th percentile", float(np.percentile(times, 99)), "ms"),
    ]


def _same_answers(robot) -> list[Figure]:
    """What a whole solve and the running loop differ by at the paper's attitudes."""
    inverse, apart = robot.build_inverse(), []
    for angle in np.radians(ATTITUDES):
        gravity = -GRAVITY * np.array([0.0, np.cos(angle), np.sin(angle)])
        inverse.twin.reset()
        solved = inverse.solve(gravity, robot.target_tip).displacements
        controller = robot.build_controller()
        controller.enable(True)
        for _ in range(100):
            tick = controller.update(gravity)
        apart.append(1e3 * np.abs(solved - tick.displacements).max())
    return [Figure("slender.apart_mm", "slender: whole solve against the loop, cables: worst", max(apart), "mm")]


def _neck() -> list[Figure]:
    """A block with a rigid plate on top that three cables outside it pull."""
    mesh = voxel_mesh(np.ones((6, 6, 16), dtype=bool), [WIDTH / 6, WIDTH / 6, LENGTH / 16], "tet4")
    body = Body(mesh, Material(energy_named("corotational", 10e6, 0.45), 1200.0), "base")
    angles = np.radians([0.0, 120.0, 240.0])
    middle = np.array([0.5 * WIDTH, 0.5 * WIDTH, 0.0])
    anchors = middle + ARM * np.column_stack([np.cos(angles), np.sin(angles), np.zeros(3)])
    cables = CableActuators(Cables.outside(mesh, anchors, "tip", anchors + [0.0, 0.0, LENGTH]), 2e4)
    twin = FemTwin(Model(body, [Gravity()], [RigidPlate("tip")], actuators=[cables]), LENGTH)

    def processor_time() -> float:
        start = time.process_time()
        twin.equilibrium(np.array([0.0, 0.0, -GRAVITY]), displacements=[0.01, 0.0, 0.0])
        return time.process_time() - start

    processor_time()
    what = f"plate and three outside cables, {twin.model.unknowns.size} unknowns: cold equilibrium"
    return [Figure("neck.cold_s", what, min(processor_time() for _ in range(3)), "s", "<= 0.15")]


def _single_steps(robot) -> list[Figure]:
    """The tip of the damped robot as it falls from straight: steps of one Newton step, and solved ones, against fine
    ones."""

    def fall(dt: float, newton_steps: int | None) -> np.ndarray:
        moving = robot.build_dynamics(dt)
        moving.newton_steps = newton_steps
        moving.model.forces[0].vector = [0.0, -GRAVITY, 0.0]
        tips, top = [], moving.model.body.mesh.nodes[:, 2] > robot.body.length - 1e-9
        for _ in range(round(0.3 / dt)):
            moving.step()
            tips.append(moving.pose.points[top].mean(axis=0))
        return np.array(tips)

    fine = fall(0.001, None)[3::4]
    movement = np.linalg.norm(fine - [0.0, 0.0, robot.body.length], axis=1).max()
    return [
        Figure(
            f"fall.{key}_percent", what, 100.0 * np.linalg.norm(fall(0.004, steps) - fine, axis=1).max() / movement, "%"
        )
        for key, what, steps in (
            ("single", "falling, steps of 4 ms, one Newton step each: off by", 1),
            ("solved", "  solved steps: off by", None),
        )
    ]


def _progress(name: str, done: int, of: int, seconds: float) -> None:
    terminal_progress(f"{name}: {done} of {of}, {time_left(seconds / done * (of - done))}")
    if done == of:
        terminal_progress("")
