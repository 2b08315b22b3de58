"""What a run tells while it works: lines that stay, and on a terminal one that changes."""

import shutil
import sys
import time


class Progress:
    """Lines on the standard output, each with the seconds since the start."""

    def __init__(self):
        self._start = time.monotonic()
        self._live = sys.stdout.isatty()

    def line(self, text: str) -> None:
        """Something has happened."""
        self._clear()
        print(f"{self._seconds():6.1f} s  {text}", flush=True)

    def now(self, text: str) -> None:
        """Something is so at the moment."""
        if self._live:
            self._clear()
            width = shutil.get_terminal_size().columns - 1
            print(f"{self._seconds():6.1f} s  {text}"[:width], end="", flush=True)

    def _clear(self) -> None:
        if self._live:
            print("\r\x1b[K", end="")

    def _seconds(self) -> float:
        return time.monotonic() - self._start
