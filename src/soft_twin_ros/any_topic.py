"""Topics that are found while a node runs: classes of their messages, and what matches those who publish them."""

import importlib
from collections.abc import Sequence

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy


def message_class(type_name: str) -> type:
    """The class of a type such as "sensor_msgs/msg/Imu"."""
    package, kind, name = type_name.split("/")
    return getattr(importlib.import_module(f"{package}.{kind}"), name)


def matching(offered: Sequence[QoSProfile], depth: int) -> QoSProfile:
    """What matches all publishers of a topic and loses as little as they allow."""
    reliable = all(profile.reliability == ReliabilityPolicy.RELIABLE for profile in offered)
    latched = all(profile.durability == DurabilityPolicy.TRANSIENT_LOCAL for profile in offered)
    return QoSProfile(
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )
