"""`soft-twin emulate DEVICE`: one emulated device on a port of its own, with faults by the clock."""

import argparse
import contextlib
import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from soft_twin import load_robot
from soft_twin.emulation.devices import DEVICES, VALVES, Device
from soft_twin.emulation.faults import FAULTS, FaultScript, parse_fault
from soft_twin.emulation.line_faults import LINE_FAULTS
from soft_twin.errors import UsageError
from soft_twin.priority import prefer_this_thread
from soft_twin.private_folder import claim, private_folder

ROBOT = "slender"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("device", choices=DEVICES, help="what to emulate")
    parser.add_argument("--robot", help=f"whose (default: {ROBOT})")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="how long (default: until Ctrl-C)")
    parser.add_argument("--link", type=Path, help="a link to the port, which stays the same when it is unplugged")
    parser.add_argument("--seed", type=int, default=0, help="of everything random (default: 0)")
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="KIND[:INDEX]@START[+SECONDS]",
        help="break something, such as stalled:3@5+2: " + ", ".join([*LINE_FAULTS, *FAULTS]),
    )


def run(arguments: argparse.Namespace) -> int:
    _check(arguments)
    script = FaultScript([parse_fault(text) for text in arguments.fault])
    robot = load_robot(arguments.robot or ROBOT)
    if arguments.robot is not None and arguments.device in VALVES and getattr(robot, "valves", None) is None:
        raise UsageError(f"robot '{robot.name}' has no valves to emulate")
    with _claimed(arguments.link):
        _emulate(DEVICES[arguments.device](robot, arguments.seed), script, arguments.seconds, arguments.link)
    return 0


def _emulate(device: Device, script: FaultScript, seconds: float, link: Path | None) -> None:
    """Until its time is over, or somebody ends it."""
    try:
        _announce(device, link)
        _live(device, script, seconds, link)
    finally:
        device.close()
        if link and _leads_to(link, device.address):
            link.unlink()


def _check(arguments: argparse.Namespace) -> None:
    """Raises UsageError: values that cannot be."""
    if arguments.seed < 0:
        raise UsageError(f"--seed {arguments.seed}: expected 0 or more")
    if not arguments.seconds >= 0.0:
        raise UsageError(f"--seconds {arguments.seconds:g}: expected 0 or more")


@contextlib.contextmanager
def _claimed(link: Path | None) -> Iterator[None]:
    """In this block, no other emulator of this user has the link.

    Raises:
        UsageError: one has it.
    """
    if link is None:
        yield
        return
    place = hashlib.sha256(os.fsencode(os.path.abspath(link))).hexdigest()[:16]
    lock = claim(private_folder() / f"link-{place}.lock")
    if lock is None:
        raise UsageError(f"--link {link}: another emulated device has it: end that one, or give another link")
    try:
        yield
    finally:
        os.close(lock)


def _live(device: Device, script: FaultScript, seconds: float, link: Path | None) -> None:
    """Step the device in real time; what comes late is caught up with."""
    prefer_this_thread()  # a device keeps its own time, however busy the host is
    start, ticks, address = time.monotonic(), 0, device.address
    while (now := time.monotonic() - start) < seconds:
        for text in script.advance(device, now):
            print(f"{now:.2f} s: {text}", flush=True)
        if device.address != address:
            address = device.address
            _announce(device, link)
        while ticks * device.period <= now:
            device.step(device.period)
            ticks += 1
        time.sleep(max(ticks * device.period - (time.monotonic() - start), 0.0))


def _announce(device: Device, link: Path | None) -> None:
    """Say the address, once the link leads to it."""
    if link is not None:
        _lead(link, device.address)
    print(f"address: {device.address}", flush=True)


def _lead(link: Path, address: str) -> None:
    """Make a link to an address, in place of an older link, and of nothing else.

    Raises:
        UsageError: something stands there, or the link cannot be made.
    """
    if os.path.lexists(link) and not os.path.islink(link):
        raise UsageError(f"--link {link}: a file or folder is there, and only a link is replaced")
    try:
        link.unlink(missing_ok=True)
        os.symlink(address, link)
    except OSError as error:
        raise UsageError(f"link '{link}' cannot be made: {error.strerror}") from error


def _leads_to(link: Path, address: str) -> bool:
    return os.path.islink(link) and os.readlink(link) == address
