"""Quality of service by purpose. Every publisher and subscription of the package uses one of these.

They can be overridden per topic with `qos_overrides.…` parameters: history, depth and reliability.
"""

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions

# Measured streams are offered reliable, so that any subscriber matches, and asked for best effort with one sample
# kept: who is slow gets the newest.
SENSOR = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)

# Samples of an IMU's board, which a filter needs all of; most boards offer best effort.
SAMPLES = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)

# Commands: none may be lost, only the newest counts.
COMMAND = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)

# What who comes late needs as well: targets, phases.
LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)

# Calls of actions: so many may wait while a node computes.
CALLS = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)

OVERRIDABLE = QoSOverridingOptions.with_default_policies()
