import os
import subprocess
import sys

import pytest

from soft_twin.errors import UsageError
from soft_twin_ros.domain import ros_domain


@pytest.mark.parametrize(("text", "number"), [("", 0), ("0", 0), ("232", 232)])
def test_a_domain_is_a_number(monkeypatch, text, number):
    monkeypatch.setenv("ROS_DOMAIN_ID", text)
    assert ros_domain() == number


@pytest.mark.parametrize("text", ["abc", "-1", "233", "7\n7"])
def test_what_is_none_is_named_in_one_line(monkeypatch, text):
    monkeypatch.setenv("ROS_DOMAIN_ID", text)
    with pytest.raises(UsageError, match=r"^ROS_DOMAIN_ID=.*: expected a number from 0 to 101[^\n]*$"):
        ros_domain()


def test_a_node_says_it(tmp_path):
    command = [sys.executable, "-m", "soft_twin_ros.recorder", "--ros-args", "-p", f"path:={tmp_path / 'run.mcap'}"]
    variables = {**os.environ, "ROS_DOMAIN_ID": "lab"}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60.0)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1) and "ROS_DOMAIN_ID=lab: expected" in done.stderr
