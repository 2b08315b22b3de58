"""Nonsense, said to real nodes and to nobody."""

import json
import subprocess
import sys

import pytest
import soft_twin_msgs.msg
import soft_twin_msgs.srv
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Imu, JointState, PointCloud2
from soft_twin_msgs.action import Follow

from soft_twin_ros.running.nonsense import Nonsense

KINDS = [getattr(soft_twin_msgs.msg, name) for name in dir(soft_twin_msgs.msg) if name[0].isupper()]
SERVICES = [getattr(soft_twin_msgs.srv, name) for name in dir(soft_twin_msgs.srv) if name[0].isupper()]
KINDS += [kind.Request for kind in SERVICES if hasattr(kind, "Request")]
KINDS += [Imu, JointState, PointCloud2, Follow.Goal]


@pytest.mark.parametrize("kind", KINDS)
def test_nonsense_can_be_sent_and_comes_again_from_its_number(kind):
    first, again = (Nonsense(3, ["cable_1", "cable_2"]) for _ in range(2))
    for _ in range(20):
        message = first.filled(kind)
        assert len(serialize_message(message)) > 0
        assert str(first.changed(message)) != "" and serialize_message(first.changed(message))
        assert type(again.filled(kind)) is kind
    first, again = Nonsense(4, []), Nonsense(4, [])
    assert [repr(first.number()) for _ in range(9)] == [repr(again.number()) for _ in range(9)]


def test_nodes_survive_it(tmp_path):
    """An answer may get lost on a busy machine: that nodes live and print no traceback is judged here."""
    program = "import sys; from soft_twin.app.cli import main; sys.exit(main())"
    words = ["bench", "nonsense", "--robot", "slender", "--seconds", "10", "--seed", "8", "--out", str(tmp_path)]
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, timeout=280)
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["acts"] > 5
    assert (figures["ended"], figures["told"]) == (0.0, 0.0), done.stdout
