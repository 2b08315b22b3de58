"""Serial devices: is one there, and may it be used?"""

import os
import stat
from glob import glob

from soft_twin.errors import DeviceError

DEVICES = "/dev/"
USUAL = ("/dev/serial/by-id/*", "/dev/ttyACM*", "/dev/ttyUSB*")


def require_serial_device(device: str, what: str = "device") -> None:
    """See that there is such a serial device, and that this user may use it, before it is opened.

    Args:
        device: its path.
        what: is expected there, for the message.

    Raises:
        DeviceError: otherwise, with the remedy.
    """
    there = ", ".join(sorted(path for pattern in USUAL for path in glob(pattern))) or "none"
    if not os.path.exists(device):
        raise DeviceError(f"no {what} at '{device}': {_remedy(device)} (serial devices: {there})")
    if not stat.S_ISCHR(os.stat(device).st_mode):
        raise DeviceError(f"no {what} at '{device}', which is no device: give another path (serial devices: {there})")
    if not os.access(device, os.R_OK | os.W_OK):
        raise DeviceError(f"no permission to use '{device}': `sudo usermod -aG dialout $USER`, then log in again")


def _remedy(device: str) -> str:
    """What to do where nothing is at this path."""
    if "/" not in device:
        return "expected a path, as /dev/ttyACM0"
    if os.path.abspath(device).startswith(DEVICES):
        return "plug it in, or give another path"
    return "an emulated one appears once its robot has started, or give another path"
