"""Whatever others' readers do on a broken file becomes one line: they loop, fill the memory, exit, or crash."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from soft_twin.errors import RecordingError
from soft_twin.reading_apart import ApartError, call_apart, read_apart

READERS = """
import os, signal, sys
import numpy as np

def sound(path):
    print("reading", path)
    return {"numbers": np.arange(5.0), "path": path}

def endless(path):
    while True:
        pass

def asleep(path):
    signal.pause()

def large(path):
    return np.ones(40_000_000)

def lazy(path):
    return np.zeros(10_000_000, np.int8)

def ended(path):
    print("Error: nothing to read")
    sys.exit(1)

def crashed(path):
    os.kill(os.getpid(), signal.SIGSEGV)

def mistaken(path):
    return {}[1]

class FormatError(Exception):
    pass

def spoken(path):
    raise FormatError("line 3:\\n  no number")
"""


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Reads by a reader of READERS."""
    (tmp_path / "some_readers.py").write_text(READERS)
    monkeypatch.syspath_prepend(tmp_path)

    def read_by(name, seconds=5.0):
        path = tmp_path / "file"
        return read_apart(f"some_readers:{name}", path, "thing", RecordingError, seconds, memory=100_000_000)

    return read_by


def test_what_is_read_comes_back_and_nothing_is_printed(read, capfd, tmp_path):
    answer = read("sound")
    np.testing.assert_array_equal(answer["numbers"], np.arange(5.0))
    assert answer["path"] == str(tmp_path / "file")
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(sys.platform == "win32", reason="no limits of processor time and memory")
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("endless", "damaged or cut short, its reader did not end within 0.5 s"),
        ("large", "it asks for more memory than a file may take"),
        ("ended", "Error: nothing to read"),
        ("crashed", "its process ended with status -11"),
        ("mistaken", r"damaged or cut short \(KeyError: 1\)"),
        ("spoken", "line 3: no number"),
    ],
)
def test_every_other_end_is_one_line(read, name, reason):
    with pytest.raises(RecordingError, match=f"^thing '.*file' is not readable: {reason}$"):
        read(name, seconds=0.5)


def test_a_reader_that_waits_for_ever_is_ended(read, monkeypatch):
    monkeypatch.setattr("soft_twin.reading_apart.WAIT", 3.0)
    with pytest.raises(RecordingError, match="did not end within 0.5 s"):
        read("asleep", seconds=0.5)


def test_what_unpacks_to_too_much_is_refused(read, monkeypatch):
    monkeypatch.setattr("soft_twin.reading_apart.LARGEST_ANSWER", 1_000_000)
    with pytest.raises(RecordingError, match="it unpacks to 10000.* bytes"):
        read("lazy")


def test_an_interruption_ends_what_was_called_apart():
    program = "from soft_twin.reading_apart import call_apart; call_apart('time:sleep', [600])"
    caller = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)
    children = Path(f"/proc/{caller.pid}/task/{caller.pid}/children")
    wait_until(lambda: children.read_text())
    (apart,) = children.read_text().split()
    caller.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in caller.communicate(timeout=60.0)[1]
    wait_until(lambda: not is_alive(apart))


def test_an_interruption_while_it_is_started_ends_it_too(monkeypatch):
    start, started = subprocess.Popen.__init__, []

    def interrupted(self, *words, **options):
        start(self, *words, **options)
        started.append(self.pid)
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "__init__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        call_apart("time:sleep", [600])
    wait_until(lambda: not is_alive(*started))


def is_alive(process):
    """Not one that was killed, and of which nobody has taken note yet."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(done):
    until = time.monotonic() + 60.0
    while not done():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_what_is_called_apart_takes_several_arguments_and_says_what_it_raised():
    assert call_apart("math:hypot", [3.0, 4.0]) == 5.0
    with pytest.raises(ApartError, match="math domain error"):
        call_apart("math:sqrt", [-1.0])
