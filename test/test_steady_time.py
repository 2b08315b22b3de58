import shutil
import subprocess
import sys
import time

import pytest

from soft_twin.steady_time import steady_now

TELL = "from soft_twin.steady_time import steady_now; import time; print(steady_now(), time.monotonic())"


def in_a_host_that_has_slept(seconds):
    """What such a one says: Linux lets processes live by a boot clock that is ahead by so much."""
    words = ["unshare", "--time", "--boottime", str(seconds), "--fork", sys.executable, "-c", TELL]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"needs a time namespace of its own: {done.stderr.strip()}")
    return [float(word) for word in done.stdout.split()]


@pytest.mark.skipif(shutil.which("unshare") is None, reason="unshare is util-linux's")
def test_time_passes_while_the_host_sleeps():
    before = steady_now(), time.monotonic()
    steady, monotonic = in_a_host_that_has_slept(3600)
    assert steady - before[0] == pytest.approx(3600.0, abs=60.0)
    assert monotonic - before[1] < 60.0


def test_it_goes_on_as_fast_as_time():
    before, start, begun = time.monotonic(), steady_now(), time.monotonic()
    time.sleep(0.2)
    ending, end, after = time.monotonic(), steady_now(), time.monotonic()
    assert ending - begun - 1e-6 < end - start < after - before + 1e-6
