"""Writing to a serial device with a limit to the wait for room.

pyserial looks at its clock after the kernel has taken the bytes as well, so that a program which the machine leaves
waiting for longer than the limit loses a device that takes everything; without a limit it waits for ever, and with a
limit of zero it spins while there is no room.
"""

import os
import select
import time


def write_bytes(descriptor: int, data: bytes, patience: float) -> None:
    """Write all of it to a file descriptor that does not block.

    Args:
        descriptor: as `fileno()` of an open serial.Serial gives it.
        patience: how long to wait for room [s].

    Raises:
        TimeoutError: there was no room for the rest, also after so long.
        OSError: the device is gone.
    """
    end = time.monotonic() + patience
    while data:
        late = time.monotonic() >= end
        try:
            data = data[os.write(descriptor, data) :]
        except BlockingIOError:
            if late:
                raise TimeoutError(f"no room for {len(data)} bytes for {patience:g} s") from None
            select.select([], [descriptor], [], max(end - time.monotonic(), 0.0))
