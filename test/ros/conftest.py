import os

import pytest

# A domain of its own on this machine only, before anything of ROS is imported.
from soft_twin_ros.running.processes import environment


@pytest.fixture(scope="session", autouse=True)
def ros(tmp_path_factory):
    import rclpy

    if not rclpy.ok():  # the other folder of ROS tests does this, too
        os.environ.update(environment(tmp_path_factory.mktemp("ros_log")))
        rclpy.init()
    yield
    rclpy.try_shutdown()
