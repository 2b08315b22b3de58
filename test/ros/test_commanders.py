"""Nodes that contradict each other are named, and those that do not are not."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy")

from soft_twin_ros.commanders import Commanders


class TwoPublishers:
    """Of a node, what is asked of it here: two others may publish on each topic."""

    def resolve_topic_name(self, topic):
        return "/" + topic

    def get_publishers_info_by_topic(self, topic):
        return [SimpleNamespace(node_namespace="/", node_name=name) for name in ("solver", "panel")]


def words(commands):
    commanders = Commanders(TwoPublishers())
    commanders.may_use("chambers/command")
    for values in commands:
        commanders.heard(values)
    return commanders.in_words()


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e5])
def test_commands_of_two_that_differ_are_named(size):
    assert "/panel and /solver" in words([size * np.array([1.0, 0.4 + 0.1 * (i % 2)]) for i in range(20)])


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e5])
@pytest.mark.parametrize("noise", [0.0, 1e-15, 2e-3])
def test_noise_of_one_alone_is_not_taken_for_two(size, noise):
    generator = np.random.default_rng(0)
    assert words([size * (np.array([1.0, 0.4]) + noise * generator.standard_normal(2)) for _ in range(300)]) == ""


def test_zeros_are_no_contradiction():
    assert words([np.zeros(2)] * 20) == ""
