"""Files of parameters that a node is started with: what is for it alone, and that it does not have, is refused."""

import re
from dataclasses import dataclass

import pytest

pytest.importorskip("rclpy")

from soft_twin.errors import UsageError
from soft_twin_ros.parameter_entries import refuse_unknown_in_files
from soft_twin_ros.parameters import parameter


@dataclass(frozen=True)
class Parameters:
    device: str = parameter("/dev/ttyUSB0", "serial device")
    hold_after: float = parameter(0.2, "without commands", "s", 0.0, 1.0)


@pytest.fixture
def started(tmp_path):
    """Starts /left/ear with a text as its file, after another's."""
    other, path = tmp_path / "eye.yaml", tmp_path / "mine.yaml"
    other.write_text("/left/eye: {ros__parameters: {size: 2}}")

    def start(text):
        path.write_text(text)
        words = f"ear --ros-args -r __ns:=/left --params-file {other} --params-file {path} --log-level info".split()
        refuse_unknown_in_files(words, "/left/ear", Parameters)

    return start


@pytest.mark.parametrize("name", ["/left/ear", "left/ear", "/**/ear", "/*/ear"])
def test_a_misspelt_name_is_told_with_its_line(started, name):
    message = f"mine.yaml, line 4: /{name.lstrip('/')}: there is no parameter 'hold_aftr': did you mean 'hold_after'?"
    with pytest.raises(UsageError, match=re.escape(message)):
        started(f"{name}:\n  ros__parameters:\n    device: /dev/ttyACM0\n    hold_aftr: 0.3\n")


@pytest.mark.parametrize(
    "text",
    [
        "/left/ear: {ros__parameters: {hold_after: 0.3, use_sim_time: true, qos_overrides.a.publisher.depth: 1}}",
        "/**: {ros__parameters: {size: 2}}",  # may be another's
        "/left/*: {ros__parameters: {size: 2}}",
        "/right/ear: {ros__parameters: {hold_aftr: 0.3}}",
        "&ears /left/ear: [not, an, entry]",  # whatever ROS says of it
    ],
)
def test_what_is_right_or_not_for_it_is_let_be(started, text):
    started(text)
