"""An slcan adapter (Lawicel's protocol) on a pseudo-terminal, in real time, with winches behind it.

Lines end with a carriage return. The host opens the channel with `O`, closes it with `C`, chooses the bit rate with
`S8` (1 Mbit/s), and sends frames as `tIIILDD…`: three hexadecimal digits of the id, one of the length, two a byte. The
adapter answers a carriage return, after `z` to a frame, or a bell to what it does not know; frames from the bus come
as the host's do.
"""

import contextlib
import os
import pty
import threading
import time
import tty
from collections.abc import Callable
from pathlib import Path

from soft_twin.studies.campaigns.devices.c610 import Controllers
from soft_twin.studies.campaigns.devices.winches import Winches

PERIOD = 0.001  # [s] of the controllers
CATCH_UP = 0.05  # [s] of motion that are made up for after the machine was busy


class SlcanAdapter:
    """Lives in a thread until `close`.

    Args:
        winches: behind the adapter.
        link: path at which the adapter is found while it is plugged in.
        on_command: is called with each frame of the host, its id and data, in the adapter's thread.

    Attributes:
        garbage: bytes that the adapter puts between its next frames, once.
        answers: frames that the motors have sent.
    """

    def __init__(self, winches: Winches, link: Path, on_command: Callable[[int, bytes], None]):
        self.garbage, self.answers = b"", 0
        self._controllers = Controllers(winches, self._answer)
        self._link, self._on_command = link, on_command
        self._lock = threading.Lock()
        self._master: int | None = None
        self._open, self._received, self._out = False, b"", []
        self._closing = threading.Event()
        self.plug()
        self._thread = threading.Thread(target=self._live, daemon=True)
        self._thread.start()

    def plug(self) -> None:
        with self._lock:
            self._master, slave = pty.openpty()
            tty.setraw(slave)
            os.set_blocking(self._master, False)
            name = os.ttyname(slave)
            os.close(slave)
            self._open, self._received = False, b""
            self._link.unlink(missing_ok=True)
            self._link.symlink_to(name)

    def unplug(self) -> None:
        """The terminal is closed; who has it open reads its end."""
        with self._lock:
            if self._master is not None:
                os.close(self._master)
                self._link.unlink(missing_ok=True)
                self._master = None

    def close(self) -> None:
        self._closing.set()
        self._thread.join()
        self.unplug()

    def _live(self) -> None:
        done = start = time.monotonic()
        while not self._closing.wait(max(done + PERIOD - time.monotonic(), 0.0)):
            now = time.monotonic()
            done = max(done, now - CATCH_UP)
            with self._lock:
                self._read(now - start)
                while done + PERIOD <= now:
                    done += PERIOD
                    self._controllers.live(done - start, PERIOD)
                self._write()

    def _read(self, now: float) -> None:
        with contextlib.suppress(OSError, TypeError):
            self._received += os.read(self._master, 65536)
        *lines, self._received = self._received.split(b"\r")
        for line in lines:
            self._take(line, now)

    def _take(self, line: bytes, now: float) -> None:
        if line[:1] == b"t" and len(line) >= 5:
            with contextlib.suppress(ValueError):
                can_id, data = int(line[1:4], 16), bytes.fromhex(line[5:].decode("ascii"))
                self._on_command(can_id, data)
                self._controllers.hear(can_id, data, now)
            self._out.append(b"z\r")
        elif line[:1] in (b"O", b"C", b"S", b"V", b"N", b"F"):
            self._open = line[:1] == b"O" or self._open and line[:1] != b"C"
            self._out.append(b"\r")
        elif line:
            self._out.append(b"\a")

    def _answer(self, can_id: int, data: bytes) -> None:
        self.answers += 1
        if self._open:
            self._out.append(b"t%03X%d%s\r" % (can_id, len(data), data.hex().upper().encode("ascii")))

    def _write(self) -> None:
        out, self._out = b"".join((self.garbage, *self._out)), []
        self.garbage = b""
        if self._master is not None:
            with contextlib.suppress(OSError):  # a host that does not read loses what does not fit
                os.write(self._master, out)
