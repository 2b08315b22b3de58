"""Faults of emulated devices, by name and by the clock."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from soft_twin.emulation.line_faults import LINE_FAULTS
from soft_twin.errors import UsageError

JUMP = 3000  # [counts] that an encoder slips by

_SECONDS = r"(\d+\.?\d*|\.\d+)"
_SCRIPT = re.compile(rf"(?P<kind>[a-z ]+)(:(?P<index>0*[1-9]\d*))?@(?P<start>{_SECONDS})(\+(?P<duration>{_SECONDS}))?")


@dataclass(frozen=True)
class Fault:
    """A fault of a device.

    Attributes:
        kind: one of FAULTS, or of LINE_FAULTS.
        index: which motor or chamber, counted from 1.
        start: when it begins [s].
        duration: how long it lasts [s].
    """

    kind: str
    index: int
    start: float
    duration: float


def parse_fault(text: str) -> Fault:
    """A fault from `KIND[:INDEX]@START[+DURATION]`, such as "stalled:3@5+2" or "silence@10"; 1 s by default.

    Raises:
        UsageError: not of that form, or no such kind.
    """
    match = _SCRIPT.fullmatch(text)
    known = [*FAULTS, *LINE_FAULTS]
    if not match or match["kind"] not in known:
        raise UsageError(
            f"fault '{text}': expected KIND[:INDEX]@START[+DURATION], with INDEX from 1 and KIND one of "
            f"{', '.join(known)}"
        )
    return Fault(match["kind"], int(match["index"] or 1), float(match["start"]), float(match["duration"] or 1.0))


def set_fault(device: Any, fault: Fault, on: bool) -> None:
    """Let a fault of a device begin or end.

    Raises:
        UsageError: this device cannot have it.
    """
    try:
        if fault.kind in LINE_FAULTS:
            device.line.fault = fault.kind if on else None
        else:
            FAULTS[fault.kind](device, fault.index - 1, on)
    except (AttributeError, IndexError) as error:
        raise UsageError(f"fault '{fault.kind}' of number {fault.index}: this device has no such part") from error


class FaultScript:
    """Faults that begin and end by the clock."""

    def __init__(self, faults: list[Fault]):
        self._waiting = sorted(faults, key=lambda fault: fault.start)
        self._present: list[Fault] = []

    def advance(self, device: Any, now: float) -> list[str]:
        """Begin and end what is due at `now` [s]; says what."""
        said = []
        for fault in [fault for fault in self._present if now >= fault.start + fault.duration]:
            self._present.remove(fault)
            set_fault(device, fault, False)
            said.append(f"{fault.kind} ends")
        while self._waiting and now >= self._waiting[0].start:
            self._present.append(self._waiting.pop(0))
            set_fault(device, self._present[-1], True)
            said.append(f"{self._present[-1].kind} begins")
        return said


def _unplugged(device: Any, _: int, on: bool) -> None:
    if on:
        device.port.close()
    else:
        device.port.open()


def _silent(device: Any, index: int, on: bool) -> None:
    device.motors.silent[index] = on


def _stalled(device: Any, index: int, on: bool) -> None:
    device.motors.stalled[index] = on


def _overheated(device: Any, index: int, on: bool) -> None:
    device.motors.derating[index] = 0.02 if on else 1.0


def _backwards(device: Any, index: int, on: bool) -> None:
    device.motors.wiring[index] = -1.0 if on else 1.0


def _jump(device: Any, index: int, on: bool) -> None:
    if on:
        device.motors.jump(index, JUMP)


def _stuck(device: Any, index: int, on: bool) -> None:
    device.chambers.stuck[index * device.channels_each] = on


def _supply_lost(device: Any, _: int, on: bool) -> None:
    device.chambers.supply = 0.0 if on else device.chambers.parameters.supply


FAULTS: dict[str, Callable[[Any, int, bool], None]] = {
    "unplugged": _unplugged,
    "silent": _silent,
    "stalled": _stalled,
    "overheated": _overheated,
    "backwards": _backwards,
    "jump": _jump,
    "stuck": _stuck,
    "supply lost": _supply_lost,
}
