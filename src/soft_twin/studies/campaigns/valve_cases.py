"""What happens in one case with valves: limits, a person's commands, and faults, invented from a seed."""

import math
from dataclasses import dataclass, field, replace
from random import Random

from soft_twin.driving.valves.pressures import ChamberLimits

BACKENDS = ("openpneu", "dac_board", "modbus")
SUCKING = ("openpneu", "modbus_vacuum", "modbus_vacuum")
HEALTHY = 0.2  # share of the cases in which nothing is wrong and nobody errs

COMMON_FAULTS = (
    "loss",
    "change",
    "double",
    "swap",
    "delay",
    "reboot",
    "silent",
    "unplug",
    "sensor",
    "sensor",
    "wrong first",
    "stuck",
    "leak",
    "supply",
    "halt",
    "clock",
)
FAULTS = {
    "openpneu": (*COMMON_FAULTS, "refuses", "refuses"),
    "dac_board": COMMON_FAULTS,
    "modbus": (*COMMON_FAULTS, "refuses", "wrong reply", "wrong reply", "dropped"),
    "modbus_vacuum": (
        *(*COMMON_FAULTS, "refuses", "wrong reply", "dropped"),
        *("dip", "dip", "no reading back", "no reading back", "sensor first", "sensor first"),
    ),
}
AT_FIRST = ("wrong first", "no reading back", "sensor first")
CALLS = ("enable", "enable", "stop", "clear_stop", "relax", "activate", "deactivate", "disconnect", "connect")
ERRANDS = (("relax", "enable"), ("stop", "clear_stop", "enable"), ("deactivate", "activate", "enable"))


@dataclass(frozen=True)
class Stream:
    """Commands that come for a time.

    Attributes:
        start, end: [s].
        period: between two commands [s].
        centers, swings: of each chamber [Pa].
        frequency: of the swing [Hz].
        nonsense: every so-manieth command makes no sense; 0: none.
    """

    start: float
    end: float
    period: float
    centers: tuple[float, ...]
    swings: tuple[float, ...]
    frequency: float
    nonsense: int = 0

    def at(self, time: float) -> list[float]:
        phase = math.sin(2.0 * math.pi * self.frequency * (time - self.start))
        return [center + swing * phase for center, swing in zip(self.centers, self.swings, strict=True)]


@dataclass(frozen=True)
class Happening:
    """A call of a person, or a fault that begins and ends.

    Attributes:
        time: [s].
        what: the name of a call, or of one of FAULTS.
        end: when a fault ends [s]; a call has none.
        value: of the fault: a probability, a kind, a time [s].
        chamber: that it concerns.
    """

    time: float
    what: str
    end: float = math.inf
    value: object = None
    chamber: int = 0


@dataclass(frozen=True)
class Case:
    """One case.

    Attributes:
        start: gauge pressure of the chambers at the beginning [Pa].
        stamped: commands carry the time of the measurement behind them.
        calls, faults: in the order of time.
        end: when the faults end and the mending begins [s].
        campaign: that the case is of.
    """

    seed: int
    backend: str
    count: int
    limits: ChamberLimits
    start: float
    healthy: bool
    autostart: bool
    enable_when_active: bool
    stamped: bool
    end: float
    streams: tuple[Stream, ...] = ()
    calls: tuple[Happening, ...] = ()
    faults: tuple[Happening, ...] = field(default=())
    campaign: str = "valves"

    def story(self) -> str:
        """What happens, for a person."""
        low, high = self.limits.pressure
        lines = [
            f"case {self.seed}: {self.backend}, {self.count} chambers at {self.start / 1e3:.1f} kPa, "
            f"limits {low / 1e3:.1f}…{high / 1e3:.1f} kPa, vented {self.limits.vented / 1e3:.1f} kPa, rate "
            f"{self.limits.rate / 1e3:.0f} kPa/s, vent rate {self.limits.vent_rate / 1e3:.0f} kPa/s, "
            f"autostart {self.autostart}, enable_when_active {self.enable_when_active}, healthy {self.healthy}"
        ]
        events = [(stream.start, f"commands until {stream.end:.2f} s: {stream}") for stream in self.streams]
        events += [(call.time, call.what) for call in self.calls]
        events += [
            (fault.time, f"fault '{fault.what}' ({fault.value}, chamber {fault.chamber}) until {fault.end:.2f} s")
            for fault in self.faults
        ]
        return "\n".join(lines + [f"{time:8.3f} s  {what}" for time, what in sorted(events)])


def invent(seed: int) -> Case:
    """The case of a seed."""
    rng = Random(f"valves {seed}")
    backend = rng.choice(BACKENDS)
    count = rng.choice((1, 1, 2, 2, 3, 4))
    limits = _limits(rng, backend)
    return _invent(rng, seed, backend, count, limits, limits.vented)


def invent_vacuum(seed: int) -> Case:
    """The case of a seed with chambers that are sucked, too."""
    rng = Random(f"valves_vacuum {seed}")
    backend = rng.choice(SUCKING)
    count = rng.choice((1, 1, 2, 2, 3, 4))
    limits = _limits_of_vacuum(rng, backend)
    return replace(_invent(rng, seed, backend, count, limits, limits.pressure[0]), campaign="valves_vacuum")


def _invent(rng: Random, seed: int, backend: str, count: int, limits: ChamberLimits, lowest_found: float) -> Case:
    healthy = rng.random() < HEALTHY
    end = rng.uniform(3.0, 6.0)
    low, high = limits.pressure
    streams = _streams(rng, limits, count, end, healthy)
    calls = _polite_calls(rng, end) if healthy else _with_a_stop(rng, _calls(rng, end), streams)
    found_filled = not healthy and rng.random() < 0.2
    return Case(
        seed=seed,
        backend=backend,
        count=count,
        limits=limits,
        start=rng.uniform(lowest_found, high) if found_filled else limits.vented,
        healthy=healthy,
        autostart=healthy or rng.random() < 0.8,
        enable_when_active=not healthy and rng.random() < 0.3,
        stamped=rng.random() < 0.4,
        end=end,
        streams=streams,
        calls=calls,
        faults=() if healthy else _faults(rng, backend, count, end),
    )


def _limits(rng: Random, backend: str) -> ChamberLimits:
    """Limits that the backend's hardware reaches."""
    if backend == "openpneu":
        low = rng.choice((0.0, 0.0, rng.uniform(-30e3, -5e3), rng.uniform(5e3, 20e3)))
        high, rate, vent = rng.uniform(45e3, 90e3), rng.uniform(20e3, 90e3), rng.uniform(20e3, 80e3)
    elif backend == "dac_board":
        low = rng.choice((0.1e6, 0.1e6, rng.uniform(0.1e6, 0.15e6)))
        high, rate, vent = rng.uniform(0.3e6, 0.6e6), rng.uniform(0.1e6, 0.4e6), rng.uniform(0.1e6, 0.4e6)
    else:
        low = rng.choice((0.0, 0.0, rng.uniform(0.0, 50e3)))
        high, rate, vent = rng.uniform(0.2e6, 0.8e6), rng.uniform(0.1e6, 0.5e6), rng.uniform(0.1e6, 0.5e6)
    return ChamberLimits((low, high), rate, vent, vented=max(low, 0.0), acceleration=rng.choice((1e6, 4e6, 4e6)))


def _limits_of_vacuum(rng: Random, backend: str) -> ChamberLimits:
    """Limits below the ambient pressure that the backend's hardware reaches."""
    if backend == "openpneu":
        low, high = rng.uniform(-45e3, -15e3), rng.choice((rng.uniform(5e3, 30e3), rng.uniform(45e3, 90e3)))
        rate, vent = rng.uniform(20e3, 90e3), rng.uniform(20e3, 80e3)
    else:
        low, high = rng.uniform(-90e3, -40e3), rng.choice((0.0, rng.uniform(10e3, 0.1e6), rng.uniform(0.1e6, 0.5e6)))
        rate, vent = rng.uniform(50e3, 0.4e6), rng.uniform(30e3, 0.4e6)
    return ChamberLimits((low, high), rate, vent, acceleration=rng.choice((1e6, 4e6, 4e6)))


def _streams(rng: Random, limits: ChamberLimits, count: int, end: float, healthy: bool) -> tuple[Stream, ...]:
    """Commands with pauses between; in a healthy case one stream to the end."""
    streams, time = [], rng.uniform(0.4, 0.8)
    while time < end:
        until = end if healthy else min(end, time + rng.uniform(0.5, 5.0))
        streams.append(_stream(rng, limits, count, time, until, healthy))
        time = until + rng.choice((0.05, 0.3, 1.5))
    return tuple(streams)


def _stream(rng: Random, limits: ChamberLimits, count: int, start: float, end: float, healthy: bool) -> Stream:
    low, high = limits.pressure
    far = rng.random() < 0.2  # beyond the limits now and then: they are cut off
    centers = tuple(rng.uniform(low, high) for _ in range(count))
    swings = tuple(rng.uniform(0.0, (1.5 if far else 0.3) * (high - low)) for _ in range(count))
    nonsense = 0 if healthy or rng.random() < 0.6 else rng.choice((1, 2, 5, 17))
    period = 1.0 / rng.choice((20.0, 50.0, 100.0) if healthy else (1.0, 5.0, 20.0, 50.0, 50.0, 100.0))
    if not healthy and rng.random() < 0.05:
        period, end = 0.001, min(end, start + 0.3)
    return Stream(start, end, period, centers, swings, rng.choice((0.0, 0.2, 1.0, 5.0)), nonsense)


def _beginning(rng: Random) -> list[Happening]:
    time = rng.uniform(0.2, 0.4)
    return [Happening(0.05, "connect"), Happening(0.1, "activate"), Happening(time, "enable")]


def _polite_calls(rng: Random, end: float) -> tuple[Happening, ...]:
    """Calls that make sense, each undone by its counterpart."""
    calls, time = _beginning(rng), rng.uniform(1.5, 2.5)
    while time < end - 0.8:
        for what in rng.choice(
            (("relax", "enable"), ("stop", "clear_stop", "enable"), ("deactivate", "activate", "enable"))
        ):
            calls.append(Happening(time, what))
            time += rng.uniform(0.1, 0.5)
        time += rng.uniform(0.5, 1.5)
    return tuple(calls)


def _calls(rng: Random, end: float) -> tuple[Happening, ...]:
    calls = _beginning(rng) if rng.random() < 0.9 else _beginning(rng)[: rng.randrange(3)]
    calls += [Happening(rng.uniform(0.0, end), rng.choice(CALLS)) for _ in range(rng.choice((0, 0, 1, 2, 3, 6)))]
    calls += [Happening(rng.uniform(1.0, end), "stop")] if rng.random() < 0.4 else []
    return tuple(sorted(calls, key=lambda call: call.time))


def _with_a_stop(rng: Random, calls: tuple[Happening, ...], streams: tuple[Stream, ...]) -> tuple[Happening, ...]:
    """Often a person enables while commands come, and stops the chambers on their way."""
    if rng.random() < 0.4:
        return calls
    stream = rng.choice(streams)
    enabled = rng.uniform(stream.start, max(stream.start, stream.end - 0.8))
    added = [Happening(enabled - 0.02, "activate"), Happening(enabled, "enable")]
    added.append(Happening(enabled + rng.uniform(0.2, 1.0), "stop"))
    return tuple(sorted((*calls, *added), key=lambda call: call.time))


def _faults(rng: Random, backend: str, count: int, end: float) -> tuple[Happening, ...]:
    faults = [_fault(rng, backend, count, end) for _ in range(rng.choice((1, 1, 1, 2, 2, 3)))]
    return tuple(sorted(faults, key=lambda fault: fault.time))


def _fault(rng: Random, backend: str, count: int, end: float) -> Happening:
    what = rng.choice(FAULTS[backend])
    time = 0.0 if what in AT_FIRST else rng.uniform(0.0, end - 0.3)
    lasting = rng.choice((rng.uniform(0.02, 0.3), rng.uniform(0.3, 1.0), rng.uniform(1.0, 4.0), rng.uniform(2.0, 7.0)))
    if what == "halt":
        lasting = rng.choice((0.05, 0.2, 0.6, 1.2, 3.0, 10.0))
    if what == "dip":
        lasting = rng.uniform(0.1, 0.95)
    return Happening(time, what, min(time + lasting, end), _value(rng, what), rng.randrange(count))


def _value(rng: Random, what: str) -> object:
    if what in ("loss", "change"):
        return rng.choice((0.001, 0.01, 0.1, 0.5))
    if what in ("double", "swap"):
        return rng.choice((0.02, 0.3))
    if what == "sensor first":
        return rng.choice(("low", "stuck", "drift"))
    return {
        "delay": rng.uniform(0.05, 0.5),
        "reboot": rng.uniform(0.05, 1.0),
        "unplug": rng.choice(("powered", "powered", "without power")),
        "sensor": rng.choice(("low", "high", "text", "stuck", "drift")),
        "wrong first": rng.choice((1, 2, 2)),
        "stuck": rng.choice(("closed", "open", "exhausts", "holds")),
        "leak": rng.choice((0.1, 0.5, 2.0)),
        "clock": rng.choice((-3600.0, -1.0, -0.15, 0.15, 1.0, 86400.0)),
        "refuses": rng.choice((0.1, 0.5, 1.0)),
        "wrong reply": rng.choice(("transaction", "length", "short", "function", "unit", "protocol", "half")),
    }.get(what)
