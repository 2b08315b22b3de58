"""Nonsense, said to real nodes and to nobody."""

import json
import subprocess
import sys

import pytest
import soft_twin_msgs.msg
import soft_twin_msgs.srv
from geometry_msgs.msg import Point
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Imu, JointState, PointCloud2
from soft_twin_msgs.action import Follow

from soft_twin_ros.nonsense import Nonsense

KINDS = [getattr(soft_twin_msgs.msg, name) for name in dir(soft_twin_msgs.msg) if name[0].isupper()]
SERVICES = [getattr(soft_twin_msgs.srv, name) for name in dir(soft_twin_msgs.srv) if name[0].isupper()]
KINDS += [kind.Request for kind in SERVICES if hasattr(kind, "Request")]
KINDS += [Imu, JointState, PointCloud2, Follow.Goal]


@pytest.mark.parametrize("kind", KINDS)
def test_nonsense_can_be_sent(kind):
    nonsense = Nonsense(3, ["cable_1", "cable_2"])
    for _ in range(20):
        message = nonsense.filled(kind)
        assert serialize_message(message) and serialize_message(nonsense.changed(message))


def test_it_comes_again_from_its_number_and_differs_from_others():
    first, again, other = (Nonsense(seed, ["cable_1"]) for seed in (4, 4, 5))
    told = [str([each.filled(Point) for _ in range(9)]) for each in (first, again, other)]
    assert told[0] == told[1] != told[2]


def test_nodes_survive_it(tmp_path):
    """An answer may get lost on a busy machine: that nodes live and print no traceback is judged here."""
    program = "import sys; from soft_twin.app.cli import main; sys.exit(main())"
    words = ["bench", "nonsense", "--robot", "slender", "--seconds", "8", "--seed", "8", "--out", str(tmp_path)]
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, timeout=280)
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["acts"] > 0
    assert (figures["ended"], figures["told"]) == (0.0, 0.0), done.stdout
