"""The control tick of the slender robot: assemble, factorise, sensitivities, quadratic program, update.

Gravity swings through a cone and the tip target runs around a circle, so that every tick has work to do; each has a
fresh factorisation. Finger and arm hold their tips while gravity swings, in processor time. Numba's threads and BLAS's
are one.
"""

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import time  # noqa: E402

import numpy as np  # noqa: E402

from soft_twin import load_robot  # noqa: E402
from soft_twin.app.measuring import Figure, time_calls  # noqa: E402
from soft_twin.inverse.controller import Controller  # noqa: E402
from soft_twin.mesh.generate.sweep import sweep_tube  # noqa: E402

TICKS = 400
ALONG = (6, 10, 20, 40)  # cells of the bodies that grow; cables end in the middle, so cells do
PERIOD = 200  # ticks of one turn of gravity: 2 s at 100 Hz


def measure() -> list[Figure]:
    """Median and 99th percentile of the tick on the robot's bodies, and how it grows with their size."""
    robot = load_robot("slender")
    figures = []
    for element, reach in (("tet4", "<= 8 (stretch 5)"), ("hex20r", "<= 5")):
        controller = robot.build_controller(robot.build_twin(element=element))
        times = tick_times(controller)
        cells = len(controller.twin.body.mesh.cells)
        what = f"control tick, {cells} {element}, {controller.twin.body.degrees_of_freedom} dof"
        figures += [
            Figure(f"{element}.cells", f"cells of {element}", cells),
            Figure(f"{element}.median_ms", f"{what}: median", float(np.median(times)), "ms", reach),
            Figure(f"{element}.p99_ms", f"{what}: 99th percentile", float(np.percentile(times, 99)), "ms", "<= 16"),
        ]
    rod = float(np.median(tick_times(robot.build_controller(robot.build_twin(backend="rod")))))
    figures.append(Figure("rod.median_ms", "control tick, rod of 10 elements: median", rod, "ms"))
    return [*figures, *growth(robot), *held("finger", "<= 10"), *held("arm", "<= 25")]


def held(name: str, reach: str) -> list[Figure]:
    """Ticks of a robot that holds its tip while gravity swings through a cone of 17°, in processor time."""
    controller = load_robot(name).build_controller()
    controller.enable(True)

    def tick(i: int) -> None:
        angle = 2 * np.pi * i / PERIOD
        controller.update(9.81 * np.array([0.3 * np.cos(angle), 0.3 * np.sin(angle), -0.954]))

    times = time_calls(tick, TICKS, PERIOD // 4, time.process_time)
    what = f"control tick, {name}, {controller.twin.model.unknowns.size} unknowns"
    return [
        Figure(f"{name}.median_ms", f"{what}: median", float(np.median(times)), "ms", reach),
        Figure(f"{name}.p99_ms", "  99th percentile", float(np.percentile(times, 99)), "ms"),
    ]


def growth(robot) -> list[Figure]:
    """Tick time over the number of hexahedra along the body."""
    figures = []
    for along in ALONG:
        median = float(np.median(tick_times(robot.build_controller(tube_twin(robot, along)), 100)))
        figures.append(Figure(f"hex20r.growth.{along}", f"1 x 6 x {along} hex20r: median", median, "ms"))
    return figures


def tube_twin(robot, along: int):
    """A twin of the robot's body with 1 x 6 hexahedra in a cross section."""
    radii = 0.5 * robot.body.lumen_diameter, 0.5 * robot.body.outer_diameter
    tube = sweep_tube(*radii, robot.body.length, (1, 6, along))
    return robot.build_twin(mesh=(tube.nodes, tube.cells), element="hex20r")


def tick_times(controller: Controller, ticks: int = TICKS) -> np.ndarray:
    """(ticks,) durations in milliseconds."""
    controller.enable(True)

    def tick(i: int) -> None:
        angle = 2 * np.pi * i / PERIOD
        controller.set_target([0.01 * np.cos(angle), 0.01 * np.sin(angle), 0.097])
        controller.update(9.81 * np.array([0.6 * np.cos(angle), 0.6 * np.sin(angle), -0.8]))

    return time_calls(tick, ticks, warm_up=PERIOD // 4)
