"""Single emulated devices by name, for tests of drivers. A new one is one function and one line in DEVICES."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.emulation.c610 import EmulatedC610
from soft_twin.emulation.dac_board import EmulatedDacBoard
from soft_twin.emulation.imu import EmulatedImu
from soft_twin.emulation.imu_board import EmulatedImuBoard
from soft_twin.emulation.modbus_terminal import EmulatedModbusTerminal
from soft_twin.emulation.motor_bus import MotorBus
from soft_twin.emulation.openpneu import EmulatedOpenPneu
from soft_twin.errors import UsageError
from soft_twin.robots.base import DrivenRobot, Robot

SPRING = 150.0  # [N/m] that each cable pulls against
AMBIENT = 25.0  # [degC]
UPRIGHT = np.array([0.0, 0.0, STANDARD_GRAVITY])  # [m/s^2] specific force of a board at rest


class Device(Protocol):
    """An emulated device.

    Attributes:
        address: what a driver opens.
        period: time between two steps [s].
    """

    address: str
    period: float

    def step(self, dt: float) -> None: ...

    def close(self) -> None: ...


class Motors:
    """A robot's motors behind their adapter, each with its cable on a spring."""

    period = 0.004

    def __init__(self, robot: Robot, seed: int):
        if not isinstance(robot, DrivenRobot):
            raise UsageError(f"robot '{robot.name}' has no winches to emulate")
        self.motors = EmulatedC610.of(robot, seed)
        self._bus = MotorBus(self.motors)
        self.port, self.line = self._bus.port, self._bus.line

    @property
    def address(self) -> str:
        return self.port.path

    def step(self, dt: float) -> None:
        self._bus.step(dt, np.maximum(SPRING * self.motors.displacements, 0.0))

    def close(self) -> None:
        self._bus.close()


class Imu:
    """An IMU board that lies flat and still."""

    period = 0.01

    def __init__(self, _: Robot, seed: int):
        self._board = EmulatedImuBoard(EmulatedImu(seed=seed), AMBIENT)
        self.port, self.line = self._board.port, self._board.line
        self._time = 0.0

    @property
    def address(self) -> str:
        return self.port.path

    def step(self, dt: float) -> None:
        self._time += dt
        self._board.step(self._time, np.zeros(3), UPRIGHT, dt)

    def close(self) -> None:
        self._board.close()


class OpenPneu(EmulatedOpenPneu):
    """An OpenPneu."""

    period = 0.005

    def __init__(self, _: Robot, seed: int):
        super().__init__(seed)


class DacBoard(EmulatedDacBoard):
    """A DAC board with 40 valves, or as many more as the robot's chambers need."""

    period = 0.005

    def __init__(self, robot: Robot, seed: int):
        super().__init__(_valves(robot, 40), seed)


class Modbus(EmulatedModbusTerminal):
    """A Modbus terminal with 16 valves, or as many more as the robot's chambers need."""

    period = 0.005

    def __init__(self, robot: Robot, seed: int):
        super().__init__(_valves(robot, 16), seed)


class ModbusVacuum(EmulatedModbusTerminal):
    """One whose valves go below ambient pressure."""

    period = 0.005

    def __init__(self, robot: Robot, seed: int):
        super().__init__(_valves(robot, 16), seed, vacuum=True)


def _valves(robot: Robot, least: int) -> int:
    """How many valves a device for a robot's chambers has."""
    return max(least, 0 if robot.valves is None else len(robot.valves.channels))


DEVICES: dict[str, Callable[[Robot, int], Device]] = {
    "motors": Motors,
    "imu": Imu,
    "openpneu": OpenPneu,
    "dac_board": DacBoard,
    "modbus": Modbus,
    "modbus_vacuum": ModbusVacuum,
}
VALVES = {"openpneu", "dac_board", "modbus", "modbus_vacuum"}  # of them
