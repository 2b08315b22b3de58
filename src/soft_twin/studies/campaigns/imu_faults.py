"""Faults of an IMU, its clock and its line, each a function that damages what a board measures or sends.

A fault of the readings changes them in place between two times; a fault of the line takes the list of what is sent
and gives back what arrives. Which values are drawn is part of each fault.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from soft_twin.studies.campaigns.devices.imu_board import Readings, quantise

FOREVER = float("inf")


@dataclass
class Fault:
    """One fault of a case.

    Attributes:
        name: in FAULTS.
        start, end: of the case's time [s]; the end may be FOREVER.
        words: what was drawn.
    """

    name: str
    start: float
    end: float
    words: str = ""


@dataclass(frozen=True)
class Frame:
    """A frame on its way.

    Attributes:
        index: of the sample that it carries; −1 for garbage.
        arrival: at the host [s].
        data: its bytes; empty: the line was opened anew.
    """

    index: int
    arrival: float
    data: bytes


Damage = Callable[[np.random.Generator, Readings, Fault, slice], None]
LineDamage = Callable[[np.random.Generator, list[Frame], Fault], list[Frame]]


@dataclass(frozen=True)
class Kind:
    """How a fault is drawn.

    Attributes:
        damage: what it does to the readings, or None.
        line: what it does to the line, or None.
        lasts: shortest and longest duration [s]; 0: one sample.
        when: "any" (at some time, for its duration), "lasting" (from some time on), "start" (from the beginning on).
        forces: whether it damages the accelerometer for good, so that only a turn shows it.
        sound: whether gyroscope and accelerometer read what they feel all the time.
    """

    damage: Damage | None = None
    line: LineDamage | None = None
    lasts: tuple[float, float] = (0.0, 0.0)
    when: tuple[str, ...] = ("any",)
    forces: bool = False
    sound: bool = False


def draw(rng: np.random.Generator, duration: float) -> Fault:
    """A random fault, not yet done."""
    name = str(rng.choice(list(FAULTS)))
    kind = FAULTS[name]
    when = str(rng.choice(kind.when))
    start = 0.0 if when == "start" else rng.uniform(2.0, duration - 4.0)
    end = start + rng.uniform(*kind.lasts) if when == "any" else FOREVER
    return Fault(name, start, end)


def damage_readings(rng: np.random.Generator, readings: Readings, fault: Fault) -> None:
    """Do a fault of the readings; a fault of the line changes nothing here."""
    damage = FAULTS[fault.name].damage
    if damage is not None:
        first = int(np.searchsorted(readings.true_time, fault.start))
        last = max(int(np.searchsorted(readings.true_time, fault.end)), first + 1)
        damage(rng, readings, fault, slice(first, last))


def damage_line(rng: np.random.Generator, frames: list[Frame], fault: Fault) -> list[Frame]:
    """Do a fault of the line; what arrives then."""
    line = FAULTS[fault.name].line
    return frames if line is None else line(rng, frames, fault)


def _wild_rate(rng: np.random.Generator, readings: Readings, fault: Fault, part: slice) -> None:
    value = rng.choice([300.0, 1000.0, 1900.0, 2000.0]) * rng.choice([-1.0, 1.0])
    fault.words = f"one rate of {value:.0f} °/s"
    readings.gyroscope[part.start, rng.integers(3)] = np.radians(value)


def _wild_force(rng: np.random.Generator, readings: Readings, fault: Fault, part: slice) -> None:
    value = rng.choice([4.0, 16.0, 23.9]) * rng.choice([-1.0, 1.0])
    fault.words = f"one force of {value:.1f} g"
    readings.accelerometer[part.start, rng.integers(3)] = 9.81 * value


def _absurd(rng: np.random.Generator, readings: Readings, fault: Fault, part: slice) -> None:
    value = float(rng.choice([1e38, -1e38, 1e6, np.nan, np.inf]))
    sensor = rng.choice(["gyroscope", "accelerometer"])
    fault.words = f"{value:g} in the {sensor} for {part.stop - part.start} samples"
    getattr(readings, sensor)[part, rng.integers(3)] = value


def _burst(rng: np.random.Generator, readings: Readings, fault: Fault, part: slice) -> None:
    sensor = rng.choice(["gyroscope", "accelerometer"])
    values = getattr(readings, sensor)
    limit = getattr(readings, f"{sensor}_range") * rng.uniform(0.05, 1.0)
    fault.words = f"{part.stop - part.start} random values of the {sensor} up to {limit:.0f} rad/s or m/s²"
    values[part] = limit * rng.uniform(-1.0, 1.0, values[part].shape)


def _stuck(rng: np.random.Generator, readings: Readings, fault: Fault, part: slice) -> None:
    which = rng.choice(["gyroscope", "accelerometer", "both"])
    fault.words = f"{which} stuck"
    for sensor in ("gyroscope", "accelerometer"):
        if which in (sensor, "both"):
            getattr(readings, sensor)[part] = getattr(readings, sensor)[part.start]


def _axis_dead(rng: np.random.Generator, readings: Readings, fault: Fault, part: slice) -> None:
    sensor, axis = rng.choice(["gyroscope", "accelerometer"]), int(rng.integers(3))
    values = getattr(readings, sensor)
    value = 0.0 if rng.random() < 0.5 else values[part.start, axis]
    fault.words = f"{sensor} {'xyz'[axis]} stays at {value:.2f}"
    values[part, axis] = value


def _small_range(rng: np.random.Generator, readings: Readings, fault: Fault, part: slice) -> None:
    if rng.random() < 0.5:
        readings.gyroscope_range = np.radians(rng.choice([125.0, 250.0, 500.0]))
    else:
        readings.accelerometer_range = 9.81 * rng.choice([2.0, 4.0, 8.0])
    fault.words = f"ranges {np.degrees(readings.gyroscope_range):.0f} °/s, {readings.accelerometer_range:.0f} m/s²"
    quantise(readings)


def _dead_gyroscope(rng: np.random.Generator, readings: Readings, fault: Fault, part: slice) -> None:
    fault.words = "the gyroscope gives noise only"
    shape = readings.gyroscope[part].shape
    readings.gyroscope[part] = np.radians(0.1) * rng.standard_normal(shape)
    quantise(readings)


def _signs(rng: np.random.Generator) -> np.ndarray:
    """One, two or three signs that are not all right."""
    while (signs := rng.choice([-1.0, 1.0], 3)).min() > 0.0:
        pass
    return signs


def _gyroscope_signs(rng: np.random.Generator, readings: Readings, fault: Fault, part: slice) -> None:
    signs = _signs(rng)
    fault.words = f"gyroscope's signs {signs.tolist()}"
    readings.gyroscope[part] *= signs


def _gyroscope_axes(rng: np.random.Generator, readings: Readings, fault: Fault, part: slice) -> None:
    order = [[1, 0, 2], [0, 2, 1], [2, 1, 0], [1, 2, 0], [2, 0, 1]][rng.integers(5)]
    fault.words = f"gyroscope's axes {order}"
    readings.gyroscope[part] = readings.gyroscope[part][:, order]


def _gyroscope_scale(rng: np.random.Generator, readings: Readings, fault: Fault, part: slice) -> None:
    factor = float(rng.choice([0.0175, 0.5, 0.7, 1.4, 2.0, 57.3]))
    fault.words = f"rates times {factor}"
    readings.gyroscope[part] *= factor
    quantise(readings)


def _gyroscope_bias(rng: np.random.Generator, readings: Readings, fault: Fault, part: slice) -> None:
    step = rng.standard_normal(3)
    step *= np.radians(rng.uniform(3.0, 60.0)) / np.linalg.norm(step)
    fault.words = f"bias steps by {np.degrees(step).round(1).tolist()} °/s"
    readings.gyroscope[part] += step


def _force_signs(rng: np.random.Generator, readings: Readings, fault: Fault, part: slice) -> None:
    signs = _signs(rng)
    if signs.max() < 0.0 and part.start == 0:  # a world that is upside down: no IMU can see that
        signs[rng.integers(3)] = 1.0
    fault.words = f"accelerometer's signs {signs.tolist()}"
    readings.accelerometer[part] *= signs


def _force_axes(rng: np.random.Generator, readings: Readings, fault: Fault, part: slice) -> None:
    order = [[1, 0, 2], [0, 2, 1], [2, 1, 0], [1, 2, 0], [2, 0, 1]][rng.integers(5)]
    fault.words = f"accelerometer's axes {order}"
    readings.accelerometer[part] = readings.accelerometer[part][:, order]


def _force_scale(rng: np.random.Generator, readings: Readings, fault: Fault, part: slice) -> None:
    factor = np.ones(3)
    axes = int(rng.integers(3)) if rng.random() < 0.6 else slice(None)
    factor[axes] = rng.choice([0.102, 0.5, 0.7, 1.4, 2.0])
    fault.words = f"forces times {factor.tolist()}"
    readings.accelerometer[part] *= factor


def _force_bias(rng: np.random.Generator, readings: Readings, fault: Fault, part: slice) -> None:
    step = rng.standard_normal(3)
    step *= rng.uniform(0.5, 6.0) / np.linalg.norm(step)
    fault.words = f"accelerometer's bias steps by {step.round(2).tolist()} m/s²"
    readings.accelerometer[part] += step


def _clock_freezes(rng: np.random.Generator, readings: Readings, fault: Fault, part: slice) -> None:
    fault.words = f"board clock frozen for {fault.end - fault.start:.2f} s"
    gone = readings.board_time[part] - readings.board_time[part.start]
    readings.board_time[part] = readings.board_time[part.start]
    if rng.random() < 0.5:
        fault.words += ", and late from then on"
        readings.board_time[part.stop :] -= gone[-1]


def _clock_jumps(rng: np.random.Generator, readings: Readings, fault: Fault, part: slice) -> None:
    jump = float(rng.choice([-500.0, -5.0, -0.9, -0.5, -0.2, -0.05, 0.1, 0.5, 2.0, 1000.0]))
    fault.words = f"board clock jumps by {jump} s"
    readings.board_time[part] += jump
    if readings.board_time.min() < 0.0:
        readings.board_time -= readings.board_time.min()


def _clock_rate(rng: np.random.Generator, readings: Readings, fault: Fault, part: slice) -> None:
    factor = float(rng.choice([0.1, 0.5, 0.9, 0.98, 1.02, 1.1, 2.0]))
    fault.words = f"board clock runs {factor} times as fast"
    time = readings.board_time
    time[part] = time[part.start] + factor * (time[part] - time[part.start])
    time[part.stop :] += (time[part][-1] - time[part.stop - 1]) if part.stop < len(time) else 0.0


def _temperature(rng: np.random.Generator, readings: Readings, fault: Fault, part: slice) -> None:
    value = float(rng.choice([np.nan, 200.0, -273.0, 60.0, 0.0]))
    fault.words = f"temperature says {value:g} °C"
    readings.temperature[part] = value


def _vibration(rng: np.random.Generator, readings: Readings, fault: Fault, part: slice) -> None:
    size, pace = rng.uniform(2.0, 30.0), rng.uniform(30.0, 300.0)
    fault.words = f"vibration of {size:.0f} m/s² at {pace:.0f} Hz"
    phase = 2.0 * np.pi * pace * readings.true_time[part, None] + rng.uniform(0.0, 6.3, 3)
    readings.accelerometer[part] += size * rng.standard_normal(3) / 1.7 * np.sin(phase)
    readings.gyroscope[part] += np.radians(0.3 * size) * rng.standard_normal(3) / 1.7 * np.sin(phase + 1.0)
    quantise(readings)


def _gap(rng: np.random.Generator, frames: list[Frame], fault: Fault) -> list[Frame]:
    fault.words = f"nothing arrives for {fault.end - fault.start:.2f} s"
    return [one for one in frames if not fault.start <= one.arrival < fault.end]


def _losses(rng: np.random.Generator, frames: list[Frame], fault: Fault) -> list[Frame]:
    share = rng.uniform(0.05, 0.9)
    fault.words = f"{100 * share:.0f} % of the frames are lost"
    return [one for one in frames if not (fault.start <= one.arrival < fault.end and rng.random() < share)]


def _duplicates(rng: np.random.Generator, frames: list[Frame], fault: Fault) -> list[Frame]:
    fault.words = "frames arrive two or three times"
    answer = []
    for one in frames:
        answer += [one] * (int(rng.integers(1, 4)) if fault.start <= one.arrival < fault.end else 1)
    return answer


def _disorder(rng: np.random.Generator, frames: list[Frame], fault: Fault) -> list[Frame]:
    fault.words = "frames change places"
    answer = list(frames)
    for i in range(len(answer) - 4):
        if fault.start <= answer[i].arrival < fault.end and rng.random() < 0.3:
            j = i + int(rng.integers(1, 4))
            a, b = answer[i], answer[j]
            answer[i], answer[j] = Frame(b.index, a.arrival, b.data), Frame(a.index, b.arrival, a.data)
    return answer


def _corruption(rng: np.random.Generator, frames: list[Frame], fault: Fault) -> list[Frame]:
    share = rng.uniform(0.05, 0.9)
    fault.words = f"bytes of {100 * share:.0f} % of the frames are damaged"
    answer = []
    for one in frames:
        data = bytearray(one.data)
        if data and fault.start <= one.arrival < fault.end and rng.random() < share:
            data[rng.integers(len(data))] ^= int(rng.integers(1, 256))
            answer.append(Frame(-1, one.arrival, bytes(data)))
        else:
            answer.append(one)
    return answer


def _delay(rng: np.random.Generator, frames: list[Frame], fault: Fault) -> list[Frame]:
    fault.words = f"the host sleeps for {fault.end - fault.start:.2f} s"
    held = fault.start, fault.end
    return [Frame(f.index, fault.end if held[0] <= f.arrival < held[1] else f.arrival, f.data) for f in frames]


def _reconnect(rng: np.random.Generator, frames: list[Frame], fault: Fault) -> list[Frame]:
    fault.words = f"unplugged for {fault.end - fault.start:.2f} s"
    before = [one for one in frames if one.arrival < fault.start]
    return [*before, Frame(-1, fault.end, b""), *(one for one in frames if one.arrival >= fault.end)]


ANY_TIME = ("any", "lasting", "start")
FAULTS: dict[str, Kind] = {
    "wild rate": Kind(_wild_rate),
    "wild force": Kind(_wild_force),
    "absurd value": Kind(_absurd, lasts=(0.0, 0.3)),
    "burst": Kind(_burst, lasts=(0.02, 0.3)),
    "stuck": Kind(_stuck, lasts=(0.1, 3.0), when=("any", "lasting")),
    "axis dead": Kind(_axis_dead, lasts=(0.5, 3.0), when=ANY_TIME, forces=True),
    "small range": Kind(_small_range, when=("start",)),
    "gyroscope dead": Kind(_dead_gyroscope, lasts=(0.5, 3.0), when=ANY_TIME),
    "gyroscope signs": Kind(_gyroscope_signs, when=("lasting", "start")),
    "gyroscope axes": Kind(_gyroscope_axes, when=("lasting", "start")),
    "gyroscope scale": Kind(_gyroscope_scale, lasts=(0.5, 3.0), when=ANY_TIME),
    "gyroscope bias": Kind(_gyroscope_bias, lasts=(0.5, 3.0), when=ANY_TIME),
    "accelerometer signs": Kind(_force_signs, when=("lasting", "start"), forces=True),
    "accelerometer axes": Kind(_force_axes, when=("lasting", "start"), forces=True),
    "accelerometer scale": Kind(_force_scale, lasts=(0.5, 3.0), when=ANY_TIME, forces=True),
    "accelerometer bias": Kind(_force_bias, lasts=(0.5, 3.0), when=ANY_TIME, forces=True),
    "clock freezes": Kind(_clock_freezes, lasts=(0.05, 2.0), sound=True),
    "clock jumps": Kind(_clock_jumps, when=("lasting",), sound=True),
    "clock rate": Kind(_clock_rate, lasts=(0.5, 3.0), when=ANY_TIME, sound=True),
    "temperature": Kind(_temperature, lasts=(0.5, 3.0), when=ANY_TIME, sound=True),
    "vibration": Kind(_vibration, lasts=(0.5, 3.0), sound=True),
    "gap": Kind(line=_gap, lasts=(0.05, 2.0), sound=True),
    "losses": Kind(line=_losses, lasts=(0.5, 3.0), when=ANY_TIME, sound=True),
    "duplicates": Kind(line=_duplicates, lasts=(0.5, 3.0), when=ANY_TIME, sound=True),
    "disorder": Kind(line=_disorder, lasts=(0.5, 3.0), when=ANY_TIME, sound=True),
    "corruption": Kind(line=_corruption, lasts=(0.5, 3.0), when=ANY_TIME, sound=True),
    "delay": Kind(line=_delay, lasts=(0.05, 1.0), sound=True),
    "reconnect": Kind(line=_reconnect, lasts=(0.1, 2.0), sound=True),
}
