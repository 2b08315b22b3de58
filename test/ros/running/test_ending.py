import pytest

from soft_twin_ros.running.ending import ending
from soft_twin_ros.running.graph import NodeSpec

NODE = NodeSpec("recorder", "ear", "lab/left")


@pytest.mark.parametrize(
    ("status", "respawned", "says"),
    [
        (2, False, "/lab/left/ear could not start: mend what it says above, then launch again"),
        (
            2,
            True,
            "/lab/left/ear could not start, and is not started again: mend what it says above, then launch again",
        ),
        (0, False, "/lab/left/ear has ended without an error: so does the launch"),
        (
            -9,
            True,
            "/lab/left/ear ended with status -9 (ended by SIGKILL: out of memory, or somebody has ended it): it",
        ),
        (-99, False, "/lab/left/ear ended with status -99 (ended by signal 99: out of memory"),
        (
            -11,
            False,
            "/lab/left/ear ended with status -11 (ended by SIGSEGV: a fault in compiled code, of a library or a driver",
        ),
        (
            -6,
            True,
            "/lab/left/ear ended with status -6 (ended by SIGABRT: a fault in compiled code, of a library or",
        ),
        (
            1,
            False,
            "/lab/left/ear ended with status 1 (a fault in its program, the lines above are its own; respawn:",
        ),
        (
            1,
            True,
            "/lab/left/ear ended with status 1 (a fault in its program, the lines above are its own): it is",
        ),
    ],
)
def test_a_node_that_has_ended_is_named_with_the_remedy_in_one_line(status, respawned, says):
    told = ending(NODE, status, respawned)
    assert told.startswith(says) and "\n" not in told
