import pytest

from soft_twin.errors import RecordingError
from soft_twin.recording.definitions import SEPARATOR, definition, installed_share_folders


def test_a_type_is_followed_by_the_types_in_it_each_once(share):
    assert definition("sensor_msgs/msg/Temperature", [share]) == (
        "std_msgs/Header header\nfloat64 temperature\nfloat64 variance\n"
        f"{SEPARATOR}\nMSG: std_msgs/Header\nbuiltin_interfaces/Time stamp  # when\nstring frame_id\n"
        f"{SEPARATOR}\nMSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n"
    )


def test_types_without_a_package_are_of_the_same_package(share):
    text = definition("geometry_msgs/PoseStamped", [share])
    assert [line for line in text.splitlines() if line.startswith("MSG: ")] == [
        "MSG: std_msgs/Header",
        "MSG: geometry_msgs/Pose",
        "MSG: builtin_interfaces/Time",
        "MSG: geometry_msgs/Point",
        "MSG: geometry_msgs/Quaternion",
    ]


def test_arrays_bounds_constants_and_comments(share):
    (share / "a_msgs" / "msg").mkdir(parents=True)
    (share / "a_msgs" / "msg" / "A.msg").write_text(
        "# B b\nuint8 B=1\nstring<=10 name\nfloat64[<=3] few\nB[] many\nB[2] two\nstd_msgs/Bool[<=4] bounded  # C c\n"
    )
    (share / "a_msgs" / "msg" / "B.msg").write_text("int8 x")
    text = definition("a_msgs/msg/A", [share])
    assert [line for line in text.splitlines() if line.startswith("MSG: ")] == ["MSG: a_msgs/B", "MSG: std_msgs/Bool"]
    assert text.count("int8 x\n") == 1


def test_the_first_folder_that_has_a_type_wins(share, tmp_path):
    path = tmp_path / "overlay" / "std_msgs" / "msg" / "Bool.msg"
    path.parent.mkdir(parents=True)
    path.write_text("bool other\n")
    assert definition("std_msgs/Bool", [tmp_path / "overlay", share]) == "bool other\n"


@pytest.mark.parametrize("name", ["Imu", "a/b/c/d", "../x", ""])
def test_what_is_no_type_name_is_refused(share, name):
    with pytest.raises(RecordingError, match="is not a message type"):
        definition(name, [share])


def test_a_missing_type_is_named_with_the_folders_searched(share):
    with pytest.raises(RecordingError, match=r"'std_msgs/Nothing' is not installed: .*share"):
        definition("std_msgs/msg/Nothing", [share])


def test_installed_folders_are_those_of_the_prefixes(monkeypatch, tmp_path):
    (tmp_path / "one" / "share").mkdir(parents=True)
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{tmp_path / 'one'}:{tmp_path / 'gone'}")
    folders = installed_share_folders()
    assert folders[0] == tmp_path / "one" / "share"
    assert tmp_path / "gone" / "share" not in folders
