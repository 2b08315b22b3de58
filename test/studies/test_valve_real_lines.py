"""The campaign's devices at the end of real lines: pseudo-terminals and TCP, in real time and with threads."""

import contextlib
import os
import select
import socket
import threading
import time
import tty
from random import Random

import pytest

from soft_twin.driving.valves.pressures import ChamberLimits
from soft_twin.driving.valves.valve_driver import ValveDriver
from soft_twin.driving.valves.valves import open_valves
from soft_twin.errors import DeviceError
from soft_twin.studies.campaigns.devices.dac_board import DacBoard
from soft_twin.studies.campaigns.devices.modbus_terminal import ModbusTerminal
from soft_twin.studies.campaigns.devices.openpneu import OpenPneu

STEP = 0.005  # [s]
PATIENCE = 20.0  # [s] of a busy machine
KINDS = {
    "openpneu": (OpenPneu, ChamberLimits((0.0, 80e3), 60e3, 60e3)),
    "dac_board": (DacBoard, ChamberLimits((0.1e6, 0.5e6), 0.3e6, 0.3e6, vented=0.1e6)),
    "modbus": (ModbusTerminal, ChamberLimits((0.0, 0.5e6), 0.3e6, 0.3e6)),
}


class PtyLine:
    """The device's end of a pseudo-terminal."""

    def __init__(self):
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        self.address = os.ttyname(self._slave)

    def read(self) -> bytes:
        return os.read(self._master, 4096) if select.select([self._master], [], [], 0.0)[0] else b""

    def write(self, data: bytes) -> None:
        os.write(self._master, data)

    def close(self) -> None:
        os.close(self._master)
        os.close(self._slave)


class TcpLine:
    """The terminal's end of a TCP connection on this machine; the newest one counts."""

    def __init__(self):
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        self._connection: socket.socket | None = None

    def read(self) -> bytes:
        if select.select([self._server], [], [], 0.0)[0]:
            self._connection = self._server.accept()[0]
        if self._connection is None or not select.select([self._connection], [], [], 0.0)[0]:
            return b""
        return self._connection.recv(4096)

    def write(self, data: bytes) -> None:
        if self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.sendall(data)

    def close(self) -> None:
        self._server.close()
        if self._connection is not None:
            self._connection.close()


class Running:
    """A device that lives in a thread at the end of its line."""

    def __init__(self, backend: str, count: int):
        kind, self.limits = KINDS[backend]
        self.device = kind(Random(1), count, 0.0)
        self.line = TcpLine() if backend == "modbus" else PtyLine()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._live)
        self._thread.start()

    def _live(self) -> None:
        while not self._end.wait(STEP):
            now = time.monotonic()
            for answer in self.device.hear(self.line.read(), now):
                self.line.write(answer)
            self.line.write(self.device.speak(now))
            self.device.step(STEP)

    def unplug(self) -> None:
        if not self._end.is_set():
            self._end.set()
            self._thread.join()
            self.line.close()


@pytest.fixture(params=KINDS)
def bench(request):
    running = Running(request.param, 2)
    valves = open_valves(request.param, running.line.address, 2)
    driver = ValveDriver(["left", "right"], running.limits, valves)
    yield running, driver
    running.unplug()
    driver.close()


def _until(condition, act=lambda: None) -> bool:
    """Whether a condition comes true while something is done again and again."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        act()
        if condition():
            return True
        time.sleep(0.02)
    return False


def _enabled(driver: ValveDriver) -> bool:
    with contextlib.suppress(DeviceError):
        driver.enable()
        return True
    return False


def test_chambers_on_real_lines_follow_stop_and_a_lost_line_is_named(bench):
    running, driver = bench
    low, high = running.limits.pressure
    target = [low + 0.5 * (high - low), low + 0.25 * (high - low)]

    def reached() -> bool:
        return all(abs(p - t) < 3e3 for p, t in zip(running.device.chambers.pressures, target, strict=True))

    def command() -> None:
        """Also after a second in which this process was held up, and the driver has gone limp for it, as it shall."""
        if any("no command for" in fault for fault in driver.state().faults):
            driver.enable()
        driver.command(target)

    assert _until(lambda: _enabled(driver))
    assert _until(reached, command), driver.state()
    driver.stop()
    assert _until(lambda: max(running.device.chambers.pressures) < running.limits.vented + 2e3)
    assert max(running.device.set_points()) < running.limits.vented + 2e3
    running.unplug()
    assert _until(lambda: bool(driver.state().faults))
