"""The plant in a process of its own, so that its arithmetic never keeps the interpreter from the emulated devices."""

import multiprocessing
import subprocess
import sys
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from soft_twin.compiling import compiled_by_one
from soft_twin.emulation.plant import Plant, Plates
from soft_twin.errors import DeviceError, SoftTwinError
from soft_twin.interruptions import left_to_this_process
from soft_twin.mechanics.moving_base import MovingBase
from soft_twin.priority import Preference
from soft_twin.robots.base import DrivenRobot

START_PATIENCE = 180.0  # [s] for the process to load and to compile, on a busy machine
PATIENCE = 60.0  # [s] for it to answer
PROGRAM = "import sys; sys.path[:] = {path!r}; from soft_twin.emulation.plant_process import live; live({pipe})"


@dataclass(frozen=True)
class PlantState:
    """What others see of a plant; see Plant."""

    tip: np.ndarray
    tip_direction: np.ndarray
    efforts: np.ndarray
    coordinates: np.ndarray
    compliance: np.ndarray
    points: np.ndarray
    centre_line: np.ndarray
    plates: Plates
    payload: float
    contact_load: float
    damped_steps: int


class PlantProcess:
    """A Plant that lives in a child process; as a Plant, as far as emulated robots and their users go.

    The child ends with this object, and with this process, however that ends. It imports what a plant needs, not the
    program that it is started from, as a process of `multiprocessing` would: a robot's class is in a module.

    Attributes:
        stations: (s,) as Plant's.
    """

    def __init__(self, robot: DrivenRobot):
        """Start the process and wait until its body rests.

        Raises:
            DeviceError: it did not start.
        """
        self._pipe, end = multiprocessing.Pipe()
        program = PROGRAM.format(path=[str(folder) for folder in sys.path], pipe=end.fileno())
        command = [sys.executable, "-c", program]
        with left_to_this_process():
            self._process = subprocess.Popen(command, pass_fds=[end.fileno()], stdin=subprocess.DEVNULL)
        end.close()
        try:
            self._send(robot)
            self.stations: np.ndarray = self._answer(START_PATIENCE)
            self._state: PlantState = self._answer()
        except BaseException:
            self._process.kill()
            raise

    def __getattr__(self, name: str):
        """What Plant has, as it was after the last step."""
        if name in PlantState.__dataclass_fields__:
            return getattr(self._state, name)
        raise AttributeError(name)

    def step(self, dt: float, drives: np.ndarray, base: MovingBase) -> None:
        """As Plant.step; waits for the process.

        Raises:
            DeviceError: the process is gone.
        """
        self._ask("step", dt, drives, base)

    def hang(self, payload: float, thread: float = 0.0, swing: float = 0.0) -> None:
        """As Plant.hang; waits for the process.

        Raises:
            InputError: as Plant.hang.
            DeviceError: the process is gone.
        """
        self._ask("hang", payload, thread, swing)

    def settle(self, gravity) -> None:
        """As Plant.settle; waits for the process.

        Raises:
            DeviceError: the process is gone.
        """
        self._ask("settle", gravity)

    def close(self) -> None:
        """End the process."""
        self._pipe.close()
        self._process.kill()  # it has nothing to put away
        self._process.wait()

    def _ask(self, method: str, *arguments) -> None:
        self._send((method, *arguments))
        self._state = self._answer()

    def _send(self, what: Any) -> None:
        try:
            self._pipe.send(what)
        except OSError as error:
            raise DeviceError("the emulated body's process is gone") from error

    def _answer(self, patience: float = PATIENCE) -> Any:
        try:
            if not self._pipe.poll(patience):
                raise DeviceError(f"the emulated body has not answered for {patience:g} s")
            answer = self._pipe.recv()
        except (EOFError, OSError) as error:
            raise DeviceError("the emulated body's process is gone") from error
        if isinstance(answer, SoftTwinError):
            raise answer
        return answer


def live(pipe: int) -> None:
    """What the child does: the plant of the robot that comes through the pipe of this file descriptor."""
    pipe, preference = Connection(pipe), Preference()
    try:
        robot = pipe.recv()
        with compiled_by_one("mechanics"):
            plant = Plant(robot)
        pipe.send(plant.stations)
        preference.start()
        while True:
            pipe.send(_state(plant))
            _obey(plant, pipe)
    except SoftTwinError as error:
        pipe.send(error)
    except (EOFError, OSError):
        pass  # the parent has gone
    finally:
        preference.close()


def _obey(plant: Plant, pipe: Connection) -> None:
    """Call the method that the parent asks for; what goes wrong is told, and the next one awaited."""
    while True:
        try:
            method, *arguments = pipe.recv()
            return getattr(plant, method)(*arguments)
        except SoftTwinError as error:
            pipe.send(error)


def _state(plant: Plant) -> PlantState:
    return PlantState(**{name: getattr(plant, name) for name in PlantState.__dataclass_fields__})
