import resource
import subprocess
import sys
import time

import pytest
import rclpy
from rclpy.qos import QoSProfile, qos_profile_sensor_data
from rclpy.serialization import deserialize_message
from std_msgs.msg import String

from soft_twin.recording.reader import read_messages
from soft_twin_ros.qos import LATCHED
from soft_twin_ros.recorder import Recorder, is_recorded
from soft_twin_ros.running.processes import environment

FULL = 400_000  # bytes of the file after which the disk is full


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


def test_a_full_disk_ends_the_recorder_in_one_line_and_what_was_recorded_can_be_read(tmp_path):
    path = tmp_path / "run.mcap"
    path.write_bytes(b"of before")
    command = [sys.executable, "-m", "soft_twin_ros.recorder", "--ros-args", "-p", f"path:={path}"]
    script = (
        "import rclpy\nfrom std_msgs.msg import String\nfrom random import Random\nrclpy.init()\n"
        "node, random = rclpy.create_node('speaker'), Random(0)\n"
        "publisher = node.create_publisher(String, 'noise', 10)\n"
        "node.create_timer(0.01, lambda: publisher.publish(String(data=random.randbytes(2000).hex())))\n"
        "rclpy.spin(node)\n"
    )
    around = environment(tmp_path)
    with subprocess.Popen([sys.executable, "-c", script], env=around) as speaker:
        try:
            recorder = subprocess.run(
                command,
                env=around,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (FULL, FULL)),
                capture_output=True,
                text=True,
                timeout=120,
            )
        finally:
            speaker.kill()
    assert recorder.returncode == 2
    assert recorder.stderr.splitlines()[-1] == f"Recorder: cannot write the recording '{path}': File too large"
    assert f"the recording '{path}' of before is replaced" in recorder.stderr
    assert "Traceback" not in recorder.stderr
    assert len(list(read_messages(path, ["/noise"]))) > 0


@pytest.mark.parametrize(
    ("topic", "first", "second"),
    [("less_reliable", QoSProfile(depth=10), qos_profile_sensor_data), ("less_durable", LATCHED, QoSProfile(depth=10))],
)
def test_who_begins_to_publish_on_a_topic_with_another_quality_of_service_is_recorded_too(
    start_node, tmp_path, monkeypatch, topic, first, second
):
    recorder, speaker = start_node(Recorder, path=str(tmp_path / "run.mcap")), rclpy.create_node("speaker")
    written = []
    monkeypatch.setattr(recorder._writer, "write", lambda channel, data, *times: written.append((channel, data)))
    for word, qos in (("first", first), ("second", second)):
        publisher, deadline, before = (
            speaker.create_publisher(String, topic, qos),
            time.monotonic() + 10.0,
            len(written),
        )
        while not publisher.get_subscription_count():
            assert time.monotonic() < deadline, f"nobody hears the {word} publisher"
            recorder._look_for_topics()
            time.sleep(0.01)
        publisher.publish(String(data=word))
        while len(written) == before:
            assert time.monotonic() < deadline
            recorder._take()
    speaker.destroy_node()
    assert [deserialize_message(data, String).data for _, data in written] == ["first", "second"]
    assert len({channel for channel, _ in written}) == 1
