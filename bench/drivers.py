"""Drivers of motors and valves against emulated devices in processes of their own, over real bytes."""

import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np

from soft_twin import load_robot
from soft_twin.app.measuring import Figure
from soft_twin.driving.cables.c610 import BIT_RATE
from soft_twin.driving.cables.cable_driver import CableDriver
from soft_twin.driving.cables.can_bus import SlcanBus, open_bus
from soft_twin.driving.valves.pressures import ChamberLimits
from soft_twin.driving.valves.valve_driver import ValveDriver
from soft_twin.driving.valves.valves import Valves, open_valves
from soft_twin.emulation.devices import Motors

COMMAND_PERIOD = 0.01  # [s]
LOOP_TIME = 60.0  # [s]
STEP = 0.005  # [m]
BAND = 0.02  # of the step: settled
VALVES = 40
VALVE_TIME = 10.0  # [s]
READY_TIME = 10.0  # [s] to start an emulated device
INTERRUPTED = 130  # exit status of one that is ended as it shall be


def measure() -> list[Figure]:
    """All figures; takes some minutes."""
    return [*_latency_and_loop(), *_step(), *_valves(), *_kill()]


@contextmanager
def _emulated(device: str):
    """The address of an emulated device in a process of its own."""
    command = [sys.executable, "-m", "soft_twin.app.cli", "emulate", device]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().split()[-1]
    finally:
        process.terminate()
        said = process.communicate(timeout=READY_TIME)[1]
        if process.returncode != INTERRUPTED:
            print(said, end="", file=sys.stderr, flush=True)


def _ready(driver: CableDriver) -> CableDriver:
    """Wait until the driver knows its motors and the rate of their feedback, and home it."""
    end = time.monotonic() + READY_TIME
    while driver.state().counters["ticks"] < 200 and time.monotonic() < end:
        time.sleep(0.01)
    driver.home()
    return driver


class _TimedBus(SlcanBus):
    """A bus that remembers when each tick began to read and when its frames were out."""

    def __init__(self, channel: str):
        self._tick_start = 0.0
        self.sent: list[tuple[float, float]] = []
        super().__init__(channel, BIT_RATE)

    def receive_all(self):
        self._tick_start = time.perf_counter()
        return super().receive_all()

    def send_all(self, messages, timeout):
        super().send_all(messages, timeout)
        self.sent.append((self._tick_start, time.perf_counter()))


def _latency_and_loop() -> list[Figure]:
    with _emulated("motors") as address:
        bus = _TimedBus(address)
        driver = _ready(CableDriver(load_robot("slender").winches, bus))
        driver.enable()
        before = driver.state().counters
        start, commands = time.perf_counter(), []
        while (now := time.perf_counter() - start) < LOOP_TIME:
            commands.append(time.perf_counter())
            driver.command(0.002 + 0.002 * np.sin(np.arange(6) + 2.0 * now))
            time.sleep(max(start + len(commands) * COMMAND_PERIOD - time.perf_counter(), 0.0))
        state = driver.state()
        driver.close()
    begun, out = np.array(bus.sent).T
    first = np.searchsorted(begun, np.array(commands))
    latency = 1e3 * (out[first[first < len(out)]] - np.array(commands)[first < len(out)])
    ticks = state.counters["ticks"] - before["ticks"]
    late = 100.0 * (state.counters["late"] - before["late"]) / (LOOP_TIME * 250.0)
    return [
        Figure("command_ms.median", "command in → both CAN frames out, median", float(np.median(latency)), "ms", "≤ 1"),
        Figure("command_ms.p99", "the same, 99th percentile", float(np.percentile(latency, 99)), "ms", "≤ 5"),
        Figure("ticks_per_s", "ticks per second, commands' own included", ticks / LOOP_TIME, "Hz"),
        Figure("missed_percent", f"missed deadlines at 250 Hz over {LOOP_TIME:g} s", late, "%", "≤ 0.5"),
        Figure(
            "worst_gap_ms",
            "longest gap between two ticks",
            1e3 * float(np.diff(begun[begun > commands[0]]).max()),
            "ms",
            "≤ 20",
        ),
        Figure("faults_in_loop", "faults meanwhile", float(state.counters["faults"] - before["faults"]), "", "0"),
    ]


def _step() -> list[Figure]:
    with _emulated("motors") as address:
        driver = _ready(CableDriver(load_robot("slender").winches, open_bus("slcan", address)))
        driver.enable()
        _sample(driver, np.zeros(6), 0.5)
        times, path = _sample(driver, np.full(6, STEP), 1.5)
        driver.close()
    error = np.abs(path - STEP).max(axis=1)
    outside = np.flatnonzero(error > BAND * STEP)
    settled = times[min(outside[-1] + 1, len(times) - 1)] if len(outside) else 0.0
    steady = 1e3 * error[times > 1.0].max()
    return [
        Figure("step_ms", "step of 5 mm settles within 2 %", 1e3 * settled, "ms", "≤ 150"),
        Figure("overshoot_percent", "its overshoot", 100.0 * (path.max() / STEP - 1.0), "%", "≤ 3"),
        Figure("steady_mm", "its steady error", steady, "mm", "≤ 0.05"),
    ]


def _sample(driver: CableDriver, command: np.ndarray, seconds: float) -> tuple[np.ndarray, np.ndarray]:
    """Command for so long; times (k,) [s] and measured displacements (k, c) [m]."""
    start, times, path = time.perf_counter(), [], []
    while (now := time.perf_counter() - start) < seconds:
        driver.command(command)
        times.append(now)
        path.append(driver.state().displacements)
        time.sleep(0.004)
    return np.array(times), np.array(path)


def _time_updates(valves: Valves) -> list[float]:
    """How long each update of these valves takes from now on, from reading to the last byte written [ms]."""
    read, write, times, start = valves.read, valves.write, [], 0.0

    def timed_read():
        nonlocal start
        start = time.perf_counter()
        return read()

    def timed_write(pressures):
        write(pressures)
        times.append(1e3 * (time.perf_counter() - start))

    valves.read, valves.write = timed_read, timed_write
    return times


def _valves() -> list[Figure]:
    with _emulated("dac_board") as address:
        valves = open_valves("dac_board", address, VALVES)
        times = _time_updates(valves)
        limits = ChamberLimits((0.1e6, 0.6e6), rate=1e6, vent_rate=0.5e6, vented=0.1e6)
        driver = ValveDriver([f"chamber_{i + 1}" for i in range(VALVES)], limits, valves)
        driver.enable()
        start = time.perf_counter()
        while (now := time.perf_counter() - start) < VALVE_TIME:
            driver.command(0.35e6 + 0.2e6 * np.sin(now + np.arange(VALVES)))
            time.sleep(0.02)
        state = driver.state()
        driver.close()
    return [
        Figure("valves_ms.median", f"full update of {VALVES} valves, median", float(np.median(times)), "ms"),
        Figure("valves_ms.p99", "the same, 99th percentile", float(np.percentile(times, 99)), "ms", "≤ 20"),
        Figure("valves_late", f"late ticks at 50 Hz over {VALVE_TIME:g} s", float(state.counters["late"]), ""),
    ]


_VICTIM = """
import sys, time, numpy as np
from soft_twin import load_robot
from soft_twin.driving.cables.c610 import BIT_RATE
from soft_twin.driving.cables.cable_driver import CableDriver
from soft_twin.driving.cables.can_bus import open_bus
driver = CableDriver(load_robot("slender").winches, open_bus("slcan", sys.argv[1]))
time.sleep(1.0)
driver.home()
driver.enable()
print("driving", flush=True)
while True:
    driver.command(np.full(6, 0.004))
    time.sleep(0.01)
"""


def _kill() -> list[Figure]:
    """Kill a driver with its cables under tension; how long until the motors let go."""
    device = Motors(load_robot("slender"), seed=0)
    victim = subprocess.Popen([sys.executable, "-c", _VICTIM, device.address], stdout=subprocess.PIPE, text=True)
    _live(device, lambda: np.all(device.motors.displacements > 0.0035), READY_TIME)
    driven = bool(np.all(device.motors.displacements > 0.0035))
    _live(device, lambda: False, 0.5)
    victim.kill()
    killed = time.perf_counter()
    _live(device, lambda: np.all(np.abs(device.motors.currents) < 1e-3), READY_TIME)
    released = time.perf_counter() - killed
    victim.wait()
    _live(device, lambda: False, 1.0)
    left = 1e3 * float(device.motors.displacements.max())
    device.close()
    return [
        Figure(
            "killed_ms",
            "driver killed (-9): motors without current after",
            1e3 * released if driven else float("nan"),
            "ms",
            "≤ 1000",
        ),
        Figure("killed_mm", "cable still wound in a second later, of 4 mm", left, "mm"),
    ]


def _live(device: Motors, until, seconds: float) -> None:
    """Step a device in real time until something holds."""
    start, ticks = time.perf_counter(), 0
    while (now := time.perf_counter() - start) < seconds and not until():
        while ticks * device.period <= now:
            device.step(device.period)
            ticks += 1
        time.sleep(0.002)
