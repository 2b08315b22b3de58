"""`soft-twin compile`: compile the robots' numba kernels, which stay compiled; once after an installation.

Without it they are compiled by the first run, by several processes at once that wait for each other's processors.

Two processes compile: one what moves bodies, the other what estimates from sensors, which shares no kernel with it.
"""

import argparse
import multiprocessing
import time
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

import soft_twin
from soft_twin import load_robot
from soft_twin.compiling import compiled_by_one, tell_of_compiling
from soft_twin.constants import STANDARD_GRAVITY, UPRIGHT_GRAVITY
from soft_twin.emulation.plant import Plant
from soft_twin.errors import DeviceError, SoftTwinError
from soft_twin.interruptions import start_uninterrupted
from soft_twin.inverse.plate_rest import Measured
from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.materials.mooney_rivlin import MooneyRivlin
from soft_twin.mechanics.moving_base import MovingBase
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.outdated_kernels import forget_outdated
from soft_twin.parallel import terminal_progress
from soft_twin.robots.base import DrivenRobot
from soft_twin.robots.fem_robot import FemRobot
from soft_twin.robots.tensegrity import TensegrityArm
from soft_twin.sensing.gravity import GravityEstimator
from soft_twin.sensing.warm_up import warm_up

DRIVEN = ("slender", "finger", "arm", "manipulator")  # robots that are driven: with cables, chambers, both, threads
PLATE_MODELS = ("fem", "pcc_chord")  # of a plate that is held, which the others are made of
ESTIMATORS = ("energy", "zero_length")
SIDEWAYS = np.array([0.0, -STANDARD_GRAVITY, 0.0])
UPRIGHT = np.array(UPRIGHT_GRAVITY)
TICKS = 30  # until a body hardly moves: only then factorisations are used again
DT = 0.1  # [s]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None."""


def run(arguments: argparse.Namespace) -> int:
    """One step of everything that the robots' nodes compute."""
    start, here = time.monotonic(), 0
    forget_outdated(Path(soft_twin.__file__).parent)

    def tell(count: int) -> None:
        nonlocal here
        here = count
        terminal_progress(f"kernels: {here + other.compiled()} compiled, which takes a minute or two in all")

    with closing(_EstimatorsProcess()) as other:
        tell_no_more = tell_of_compiling(tell)
        with compiled_by_one("mechanics"):
            for name in DRIVEN:
                _compile_driven(load_robot(name))
            _compile_plate(load_robot("neck"))
            _compile_rubber()
        tell_no_more()
        while other.goes_on():
            tell(here)
        count = here + other.compiled()
    terminal_progress("")
    did = "compiled in" if count else "were compiled before, looked through in"
    print(f"kernels {did} {time.monotonic() - start:.0f} s")
    return 0


class _EstimatorsProcess:
    """The process that compiles what estimates from sensors."""

    def __init__(self):
        context = multiprocessing.get_context("spawn")
        self._pipe, end = context.Pipe(duplex=False)
        self._process = context.Process(target=_compile_estimators, args=(end,), daemon=True)
        self._count, self._ended = 0, False
        self._failed: SoftTwinError | None = None
        start_uninterrupted(self._process)
        end.close()

    def compiled(self) -> int:
        """How many kernels it has told of until now."""
        while not self._ended and self._pipe.poll():
            self._take()
        return self._count

    def goes_on(self) -> bool:
        """Wait for what it tells next; whether it goes on then.

        Raises:
            SoftTwinError: what ended it.
        """
        if not self._ended:
            self._take()
        if not self._ended:
            return True
        self._process.join()
        if self._failed is not None:
            raise self._failed
        if self._process.exitcode:
            raise DeviceError(f"the process of the estimators' kernels has ended with {self._process.exitcode}")
        return False

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.join()
        self._pipe.close()

    def _take(self) -> None:
        try:
            said = self._pipe.recv()
        except (EOFError, OSError):
            self._ended = True
            return
        if isinstance(said, SoftTwinError):
            self._failed = said
        else:
            self._count = said


def _compile_estimators(pipe: Connection) -> None:
    """What the other process does: a tick of the IMUs' estimators, and of the struts'."""
    tell_of_compiling(pipe.send)
    try:
        warm_up(GravityEstimator(load_robot("slender").mounting))
        with compiled_by_one("struts"):
            _compile_arm(load_robot("tm40"))
    except SoftTwinError as error:
        pipe.send(error)
    except ConnectionError:
        pass  # the parent has gone


def _compile_driven(robot: DrivenRobot) -> None:
    """Ticks of its controller, and a step of its emulated body."""
    controller = robot.build_controller()
    for compensate in (False, True, True, True, False):  # long enough to press on what is there, and to let go
        controller.enable(compensate)
        controller.update(SIDEWAYS)
    controller.reuse = True
    controller.enable(True)
    for _ in range(TICKS):
        controller.update(SIDEWAYS)
    commands = [*np.full(len(robot.cable_names), 1e-3), *np.full(len(robot.chamber_names), 1e3)]
    Plant(robot).step(0.01, np.array(commands), MovingBase(SIDEWAYS))


def _compile_plate(robot: FemRobot) -> None:
    """A second of holding its plate by each model, with a look at what is on it."""
    count = len(robot.cable_names)
    measured = Measured(UPRIGHT, UPRIGHT, np.ones(count), np.zeros(count))
    for model in PLATE_MODELS:
        holder = robot.build_plate_holder(model)
        holder.begin_at(np.zeros(count))
        for _ in range(10):
            holder.update(measured, DT)


def _compile_arm(arm: TensegrityArm) -> None:
    """A shape of the struts, and its estimates."""
    shape = arm.forward(np.full(40, 2e5))
    axes = shape.nodes[20:] - shape.nodes[:20]
    inclinations = np.arccos(axes[:, 2] / np.linalg.norm(axes, axis=1))
    for estimator in ESTIMATORS:
        arm.build_estimator(estimator).update(inclinations, np.full(40, 2e5))


def _compile_rubber() -> None:
    """A cube whose energy has no kernels of its own, as the surfaces have that emulated scanners see."""
    cube = Body(voxel_mesh(np.ones((1, 1, 1)), 0.01, "hex8"), Material(MooneyRivlin(1e5, 4e4, 3e6), 1e3), "base")
    cube.assemble(cube.mesh.nodes, cube.new_factorisation())
