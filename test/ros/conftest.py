import os
from functools import partialmethod

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


@pytest.fixture
def start_node(monkeypatch):
    """Starts a node of some kind in this process, with parameters; it ends with the test."""
    from rclpy.node import Node
    from rclpy.parameter import Parameter

    begin, nodes = Node.__init__, []

    def start(kind, **parameters):
        overrides = [Parameter(name, value=value) for name, value in parameters.items()]
        with monkeypatch.context() as patch:
            patch.setattr(Node, "__init__", partialmethod(begin, parameter_overrides=overrides))
            nodes.append(kind())
        return nodes[-1]

    yield start
    for node in nodes:
        node.close()
        node.destroy_node()
