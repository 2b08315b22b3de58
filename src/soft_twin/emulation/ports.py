"""A serial port without hardware: what is written to one end of a pseudo-terminal is read at the other."""

import contextlib
import os
import select
import threading
import tty

READ_SIZE = 65536  # [bytes]
TERMINALS = "/dev/pts/"


class PseudoTerminal:
    """The device's end of a pseudo-terminal in raw mode; a driver opens the other end by its `path`.

    Nothing here blocks. As on a serial line, bytes that nobody is there to read are lost: those written while
    no driver has the port open, and those that neither fit into the kernel's buffer nor into what is kept here. Calls
    after `close` do nothing, so that an emulator's thread need not know when the device is unplugged.

    Attributes:
        path: what a driver opens, such as /dev/pts/3.
        lost: bytes that were written and reached nobody.
    """

    def __init__(self, keep: int = 0):
        """`keep`: so many bytes that the kernel's buffer has no room for wait until the driver has read others."""
        self._lock = threading.Lock()
        self._open = False
        self._keep, self._kept = keep, b""
        self.lost = 0
        self.open()

    @property
    def connected(self) -> bool:
        """Whether a driver has the port open."""
        with self._lock:
            return self._is_connected()

    @property
    def waiting(self) -> int:
        """Bytes that wait for room in the kernel's buffer, after as many of them as have room have gone there."""
        with self._lock:
            self._send()
            return len(self._kept)

    def read(self) -> bytes:
        """All bytes that the driver has sent and that were not read yet."""
        with self._lock:
            if not self._open:
                return b""
            try:
                return os.read(self._device, READ_SIZE)
            except OSError:  # nothing there (EAGAIN), or no driver (EIO)
                return b""

    def write(self, data: bytes) -> int:
        """Send bytes to the driver; the number of bytes that are on their way, the rest is lost."""
        with self._lock:
            before = self.lost
            self._kept += data
            self._send()
            self._lose(len(self._kept) - self._keep)
            return len(data) - min(self.lost - before, len(data))

    def open(self) -> None:
        """Plug the device in, if it is not; its path is another one then."""
        with self._lock:
            if self._open:
                return
            self._device, driver = os.openpty()
            tty.setraw(driver)
            self.path = os.ttyname(driver)
            os.close(driver)
            os.set_blocking(self._device, False)
            self._poll = select.poll()
            self._poll.register(self._device, 0)
            self._open = True

    def close(self) -> None:
        """Unplug the device: the driver's next read or write fails, and its path is gone."""
        with self._lock:
            if self._open:
                self._open = False
                os.close(self._device)

    def _send(self) -> None:
        """Hand over what is kept, as far as there is room; nothing is kept for a driver that is not there."""
        if not self._is_connected():
            self._lose(len(self._kept))
        elif self._kept:
            with contextlib.suppress(OSError):  # buffer full (EAGAIN), or the driver left just now (EIO)
                self._kept = self._kept[os.write(self._device, self._kept) :]

    def _lose(self, count: int) -> None:
        """The newest so many bytes of what is kept reach nobody."""
        if count > 0:
            self._kept = self._kept[:-count]
            self.lost += count

    def _is_connected(self) -> bool:
        return self._open and not self._poll.poll(0)


def while_this_process_lives(path: str) -> str:
    """A path to a pseudo-terminal of this process that leads nowhere when the process has ended, however it has: the
    number in its own `path` belongs to the next one then. What is no pseudo-terminal's is as it was.
    """
    if not (path.startswith(TERMINALS) and hasattr(os, "O_PATH")):
        return path
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)  # which is no driver that has the port open
    return f"/proc/{os.getpid()}/fd/{place}"
