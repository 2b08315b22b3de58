import pytest

from soft_twin_ros.recorder import is_recorded


@pytest.mark.parametrize(
    ("topic", "recorded"),
    [
        ("/left/gravity", True),
        ("/left/imu/data_raw", True),
        ("/diagnostics", True),
        ("/right/gravity", False),
        ("/leftover", False),
        ("/left/calibrate/_action/feedback", False),
        ("/left/calibrate/_action/status", False),
    ],
)
def test_a_robots_topics_are_recorded_but_not_what_actions_are_made_of(topic, recorded):
    assert is_recorded(topic, "/left/") is recorded
