"""A serial port without hardware: what is written to one end of a pseudo-terminal is read at the other."""

import contextlib
import os
import select
import threading
import tty

READ_SIZE = 65536  # [bytes]


class PseudoTerminal:
    """The device's end of a pseudo-terminal in raw mode; a driver opens the other end by its `path`.

    Nothing here blocks. As on a serial line, bytes that nobody is there to read are lost: those written while
    no driver has the port open, and those that do not fit into the kernel's buffer. Calls after `close` do nothing,
    so that an emulator's thread need not know when the device is unplugged.

    Attributes:
        path: what a driver opens, such as /dev/pts/3.
        lost: bytes that were written and reached nobody.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open = False
        self.lost = 0
        self.open()

    @property
    def connected(self) -> bool:
        """Whether a driver has the port open."""
        with self._lock:
            return self._is_connected()

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
        """Send bytes to the driver; the number of bytes that went out, the rest is lost."""
        with self._lock:
            sent = 0
            if self._is_connected():
                with contextlib.suppress(OSError):  # buffer full (EAGAIN), or the driver left just now (EIO)
                    sent = os.write(self._device, data)
            self.lost += len(data) - sent
            return sent

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

    def _is_connected(self) -> bool:
        return self._open and not self._poll.poll(0)
