"""One driver for each device: a second one is refused, whoever starts it, with one line."""

import errno
import socket

from soft_twin.errors import DeviceError

TAKEN = (errno.EBUSY, errno.EWOULDBLOCK)  # of a serial port that another program keeps for itself, or has locked


def is_taken(error: BaseException) -> bool:
    """Whether a device cannot be opened since another program has it."""
    return getattr(error, "errno", None) in TAKEN


def in_use(device: str) -> DeviceError:
    """The error of a second driver."""
    return DeviceError(f"'{device}' is in use by another driver: end that one first")


def claim_device(address: str, device: str) -> socket.socket:
    """Keeps other drivers, of all users, from a device that is no file, until it is closed or the process ends.

    The claim is an abstract Unix address, which belongs to the machine's network as the device does: see unix(7).

    Args:
        address: where it is, the same for all drivers: "can/can0".
        device: its name for people.

    Raises:
        DeviceError: another driver has it.
    """
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        claim.bind(f"\0soft_twin/{address}")
    except OSError as error:
        claim.close()
        if error.errno != errno.EADDRINUSE:
            raise DeviceError(f"'{device}' cannot be claimed: {error.strerror or error}") from error
        raise in_use(device) from error
    return claim
