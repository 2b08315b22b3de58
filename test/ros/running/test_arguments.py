import re

import pytest

from soft_twin import load_robot
from soft_twin.driving.valves.dac_board import RANGE
from soft_twin.errors import InputError, UsageError
from soft_twin_ros.running.arguments import (
    OF_A_ROBOT,
    OF_EACH_ROBOT,
    SHARED,
    Argument,
    RobotRequest,
    Shared,
    complete,
    number,
    refuse_unknown,
    robots_of,
)
from soft_twin_ros.running.graph import DAC_RANGE, Devices, graph, own_folder


def asked(robot, **given):
    return RobotRequest.of(complete(OF_A_ROBOT, {"robot": robot, **given}))


def by_name(request):
    return {spec.name: spec for spec in request.specs}


def test_two_robots_share_nothing_but_their_description():
    left, right = robots_of("{left: slender, right: slender}")
    assert (left.namespace, right.namespace) == ("left", "right")
    folders = []
    for request in (left, right):
        folder = str(own_folder("slender", request.namespace))
        nodes = by_name(request)
        assert nodes["emulated_robot"].parameters["device_folder"] == folder
        assert nodes["cables_to_motors"].parameters["device"] == f"{folder}/can"
        assert nodes["imu_to_gravity"].parameters["device"] == f"{folder}/imu"
        folders.append(folder)
    assert len(set(folders)) == 2


@pytest.mark.parametrize(
    ("said", "within", "full"),
    [
        ("", "/cell", "cell/tm40"),
        ("left/", "a/b", "a/b/left"),
        ("/left", "/cell", "left"),
        ("a/b", "", "a/b"),
    ],
)
def test_a_robot_is_in_the_namespace_of_who_includes_its_launch_file(said, within, full):
    request = RobotRequest.of(complete(OF_A_ROBOT, {"robot": "tm40", "namespace": said}), within)
    assert request.namespace == full and {spec.namespace for spec in request.specs} == {full}


def test_two_robots_within_a_namespace_have_device_folders_of_their_own():
    folders = {
        spec.parameters["device_folder"]
        for within in ("cell_a", "cell_b")
        for request in robots_of("{left: slender, right: slender}", within=within)
        for spec in request.specs
        if spec.name == "emulated_robot"
    }
    assert len(folders) == 4


def test_a_robot_stands_where_it_is_said(tmp_path):
    (tmp_path / "lab.yaml").write_text("left: {robot: neck, place_in_world: [0.5, -1, 0]}\nright: tm40\n")
    left, right = robots_of(str(tmp_path / "lab.yaml"))
    assert (left.place, right.place) == ((0.5, -1.0, 0.0), (0.0, 0.0, 0.0))
    told = {spec.name: spec.parameters["place_in_world"] for spec in left.specs if "place_in_world" in spec.parameters}
    assert told == {"imu_to_gravity": (0.5, -1.0, 0.0)}  # not that of the plate's IMU
    assert "place_in_world:=[0.5, -1.0, 0.0]" in by_name(left)["imu_to_gravity"].command()
    arm = asked("tm40", place_in_world="[0, 0, 2e0]")
    assert arm.place == by_name(arm)["struts_to_shape"].parameters["place_in_world"] == (0.0, 0.0, 2.0)


def test_a_robot_stands_where_its_description_says(tmp_path):
    text = load_robot("slender").path.read_text(encoding="utf-8")
    text = text.replace("imu_to_gravity: {}", "imu_to_gravity: {place_in_world: [0.2, 0.0, 1.0]}")
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    assert asked(str(path)).place == (0.2, 0.0, 1.0)
    assert asked(str(path), place_in_world="[1, 0, 0]").place == (1.0, 0.0, 0.0)
    path.write_text(text.replace("[0.2, 0.0, 1.0]", "[0.2, 1.0]"))
    with pytest.raises(
        InputError, match=re.escape("mine.yaml: nodes.imu_to_gravity.place_in_world: expected 3 numbers")
    ):
        asked(str(path))


@pytest.mark.parametrize("place", ["1 0 0", "[1, 0]", "[1, 0, x]", "[1, 0, .nan]", "{x: 1}", "[[1, 2, 3]]", "[1, 0"])
def test_a_place_is_three_numbers(place):
    with pytest.raises(UsageError, match=re.escape("place_in_world:=") + ".*" + re.escape("expected 3 numbers [m]")):
        asked("slender", place_in_world=place)


def test_robots_come_from_a_list_a_file_or_with_arguments_of_their_own(tmp_path):
    assert [request.namespace for request in robots_of("slender, tm40")] == ["slender", "tm40"]
    assert [request.namespace for request in robots_of("slender, tm40,")] == ["slender", "tm40"]
    assert [request.namespace for request in robots_of("[slender]")] == ["slender"]
    (tmp_path / "lab.yaml").write_text("left: slender\nright: {robot: slender, imu: /dev/imu, can: can0}\n")
    left, right = robots_of(str(tmp_path / "lab.yaml"))
    assert left.emulated and not right.emulated
    assert by_name(right)["cables_to_motors"].parameters["device"] == "can0"


def test_words_that_look_like_numbers_stay_as_they_are_written(tmp_path):
    text = "{left: {robot: slender, recording: 007, imu: 1e3, can: 1.10}, right: {robot: tm40, recording: 2026_11_29}}"
    (tmp_path / "lab.yaml").write_text(text)
    for said in (text, str(tmp_path / "lab.yaml")):
        left, right = map(by_name, robots_of(said))
        assert left["recorder"].parameters["path"] == "007" and right["recorder"].parameters["path"] == "2026_11_29"
        assert left["imu_to_gravity"].parameters["device"] == "1e3"
        assert left["cables_to_motors"].parameters["device"] == "1.10"


def test_a_file_of_robots_that_is_none_is_refused_in_one_line(tmp_path):
    (tmp_path / "lab.yaml").write_bytes(b"{left: \xff\xfe}")
    with pytest.raises(UsageError, match=r"lab\.yaml: not readable as YAML"):
        robots_of(str(tmp_path / "lab.yaml"))


CONFIG = load_robot("finger").path
ENDLESS = "a0: &a0 [x, x]\n" + "".join(f"a{i + 1}: &a{i + 1} [*a{i}, *a{i}]\n" for i in range(40))  # as text


@pytest.mark.parametrize(
    ("robots", "message"),
    [
        ("", "robots:='': expected such as '{left: slender, right: slender}'"),
        ("{left: slender, left: slender}", "robots:1: the key 'left' is there twice"),
        ("slender, slender", "the namespace 'slender' twice: give each its own, such as"),
        (
            "{left: {robot: slender, can: can0}, right: {robot: slender, can: can0}}",
            "the device 'can0' twice: two drivers cannot share it",
        ),
        ("{}", "robots:='{}': expected such as '{left: slender, right: slender}'"),
        ("{left:slender}", "robots: 'left:slender' has no robot: expected such as '{left: slender}', with a blank"),
        ("{left: {imu: /dev/a, can: can0}}", "robots: 'left' has no robot: expected such as '{left: slender}', with"),
        ("labb.yaml", "robots:=labb.yaml: there is no such file"),
        (str(CONFIG), f"robots:={CONFIG} is one robot's description, no list of robots: say robots:='[{CONFIG}]'"),
        ("{left: {robot: slender, rviz: true}}", "'rviz' is an argument of all robots together: say rviz:=… beside"),
        ("{left: {robot: slender, imuu: /dev/a}}", "there is no argument 'imuu': did you mean 'imu'?"),
        ("{left: [", "robots:2: not readable as YAML: while parsing"),
        (
            "{left: [slender]}",
            "robots: expected a robot's name, or arguments with plain values, found {'robot': ['slender']}",
        ),
        (
            "{left: {robot: slender, namespace: cell}}",
            "robots: 'left' has the namespace 'cell', too: the name before a robot is its namespace",
        ),
        (ENDLESS, "more than 20000 values, aliases counted with what they stand for"),
        ("[" * 3000 + "]" * 3000, "robots:1: not readable as YAML: nested deeper than 20 levels"),
        ("{left: " + "9" * 5000 + "}", "robots:1: a whole number of 5000 digits, expected at most 20"),
        ("{" + "x" * 1000 + "-: slender}", "xxx…: expected letters, digits and _, with / between names"),
        ("[" + "x" * 9000 + "]", "no robot 'xxxxx"),
        ("{left: {robot: slender, " + "x" * 1000 + ": y}}", "there is no argument 'xxxx"),
        ("{left: {robot: slender, emulated: " + "x" * 9000 + "}}", "xxx…: expected true or false"),
    ],
)
def test_robots_that_cannot_be_are_refused_in_one_line(robots, message):
    with pytest.raises(UsageError, match=re.escape(message)) as told:
        robots_of(robots)
    assert "\n" not in str(told.value) and len(str(told.value)) < 1000


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"use_simtime": "true"}, "there is no argument 'use_simtime': did you mean 'use_sim_time'?"),
        ({"xyz": "true"}, "there is no argument 'xyz': there are robot, namespace, imu"),
    ],
)
def test_unknown_arguments_are_refused_with_the_nearest(given, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        complete(OF_A_ROBOT | SHARED, given)


def test_an_old_name_still_works_but_not_beside_the_new_one():
    arguments = {"valves": Argument("/dev/ttyUSB0", "", ("device",))}
    assert complete(arguments, {}) == {"valves": "/dev/ttyUSB0"}
    assert complete(arguments, {"valves": "/dev/ttyUSB0", "device": "/dev/pneu"}) == {"valves": "/dev/pneu"}
    with pytest.raises(UsageError, match="valves and device are names of one argument"):
        complete(arguments, {"valves": "/dev/a", "device": "/dev/b"})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"emulated": "maybe"}, "emulated:=maybe: expected true or false"),
        ({"emulated": "true", "can": "can0"}, "can:=can0 and emulated:=true: leave one of them out"),
        ({"imu": "/dev/imu", "device_folder": "/here"}, "device_folder:=/here: a real robot has none"),
        ({"namespace": "/"}, "namespace:=/: a robot's nodes need one that is not the root"),
        ({"namespace": "1st"}, "namespace:=1st: expected letters"),
        ({"can": "can0", "valves": "/dev/a"}, "valves:=/dev/a: 'slender' has no such device, only imu, can"),
        ({"can": "can0", "plate_imu": "/dev/a"}, "plate_imu:=/dev/a: 'slender' has no such device, only imu, can"),
        ({"imu": "/dev/a"}, "can:= is missing: with imu:=/dev/a the robot is a real one; say the device of its motors"),
        ({"emulated": "false"}, "can:= is missing: with emulated:=false the robot is a real one"),
        ({"managed": ""}, "managed:=: expected true or false"),
        ({"can": "/dev/tty0", "imu": "/dev/tty0"}, "the device '/dev/tty0' twice: two drivers cannot share it"),
    ],
)
def test_what_contradicts_itself_or_the_robot_is_refused(given, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        asked("slender", **given)


def test_a_real_robots_devices_are_all_said_or_done_without():
    with pytest.raises(UsageError, match=re.escape("imu:=/dev/imu: 'tm40' has no such device, only valves")):
        asked("tm40", imu="/dev/imu")
    with pytest.raises(UsageError, match=re.escape("valves:= is missing: with can:=can0 the robot is a real one")):
        asked("finger", can="can0")
    without = by_name(asked("finger", can="can0", valves="none"))
    assert "pressures_to_valves" not in without
    assert without["cables_to_motors"].parameters["services"] == "cables/"  # called as with valves beside it
    assert list(by_name(asked("slender", can="none"))) == ["imu_to_gravity", "gravity_to_cables"]
    assert "plate_imu_to_gravity" in by_name(asked("neck", can="can0", plate_imu="/dev/plate"))


def test_what_is_said_of_all_robots_holds_for_those_that_do_not_say_otherwise():
    text = "{left: slender, lab/right: {robot: slender, emulated: false, can: can0, recording: mine}}"
    left, right = robots_of(text, {"emulated": "true", "managed": "true", "recording": "bags/first.mcap"})
    assert left.emulated and not right.emulated
    assert "bringup" in by_name(left) and "bringup" in by_name(right)
    assert by_name(left)["recorder"].parameters["path"] == "bags/first_left.mcap"
    assert by_name(right)["recorder"].parameters["path"] == "mine"
    names = [by_name(each)["recorder"].parameters["path"] for each in robots_of("[slender, tm40]", {"recording": "a"})]
    assert names == ["a_slender", "a_tm40"]
    with pytest.raises(UsageError, match="the recording 'a' twice: give each robot its own"):
        robots_of("{l: {robot: slender, recording: a}, r: {robot: slender, recording: a}}")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("namespace", "'namespace' is an argument of each robot: robots:='{x: slender}'"),
        ("can", "'can' is an argument of each robot: robots:='{left: {robot: slender, can: …}}'"),
        ("robot", "there is no argument 'robot': did you mean 'robots'?"),
    ],
)
def test_arguments_of_one_robot_are_not_those_of_several(name, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        refuse_unknown({"robots": Argument("", "")} | OF_EACH_ROBOT | SHARED, [name])


def test_a_number_that_is_none_is_named():
    assert number("highest", "8e4", "Pa") == 80000.0
    with pytest.raises(UsageError, match=re.escape("highest:=80kPa: expected a number [Pa]")):
        number("highest", "80kPa", "Pa")


def test_what_holds_for_all_nodes_is_checked():
    shared = Shared.of(complete(SHARED, {"use_sim_time": "True", "respawn": "0"}))
    assert shared.use_sim_time and not shared.respawn and not shared.rviz
    with pytest.raises(UsageError, match="params_file:=/nowhere: there is no such file"):
        Shared.of(complete(SHARED, {"params_file": "/nowhere"}))


def test_a_device_folder_can_be_asked_for():
    assert by_name(asked("slender", device_folder="/here"))["cables_to_motors"].parameters["device"] == "/here/can"


def test_a_real_tm40_has_a_driver_for_its_valves_when_their_board_is_named():
    nodes = by_name(asked("tm40", valves="/dev/valves"))
    assert list(nodes) == ["imus_to_inclinations", "pressures_to_valves", "struts_to_shape"]
    parameters = nodes["pressures_to_valves"].parameters
    assert (parameters["backend"], parameters["device"]) == ("dac_board", "/dev/valves")
    assert len(parameters["chambers"]) == 40
    assert (parameters["lowest"], parameters["vented"], parameters["highest"]) == (0.1e6, 0.1e6, 0.6e6)
    assert "pressures_to_valves" not in by_name(asked("tm40", emulated="false"))
    assert "emulated_arm" in by_name(asked("tm40"))


def test_the_graph_knows_the_range_of_the_valves():
    assert DAC_RANGE == RANGE


def test_command_line_and_launch_start_the_same_nodes():
    arm = load_robot("tm40")
    assert graph(arm, devices=Devices(valves="/dev/valves")) == asked("tm40", valves="/dev/valves").specs


def test_a_slender_robot_with_a_micro_ros_board_has_no_imu_device():
    nodes = by_name(asked("slender", can="/dev/can"))
    assert nodes["imu_to_gravity"].parameters["device"] == ""
    assert "emulated_robot" not in nodes


@pytest.mark.parametrize(
    ("robot", "devices", "drivers"),
    [
        ("finger", {"can": "can0"}, ["cables_to_motors", "pressures_to_valves"]),
        ("arm", {}, ["pressures_to_valves"]),
        ("membrane", {}, ["pressures_to_valves"]),
    ],
)
def test_robots_with_chambers_are_emulated_until_a_device_is_named(robot, devices, drivers):
    chain = ["imu_to_gravity", "gravity_to_actuators", *drivers]
    assert list(by_name(asked(robot))) == ["emulated_robot", *chain]
    real = by_name(asked(robot, imu="/dev/imu", valves="/dev/valves", **devices))
    assert list(real) == chain
    assert real["pressures_to_valves"].parameters["device"] == "/dev/valves"


def test_weights_are_an_argument_of_launch(tmp_path):
    (tmp_path / "mine.safetensors").touch()
    nodes = by_name(asked("membrane", weights=str(tmp_path / "mine.safetensors"), valves="terminal:502"))
    assert list(nodes) == ["imu_to_gravity", "shape_to_pressures", "pressures_to_valves"]
    assert nodes["pressures_to_valves"].parameters["device"] == "terminal:502"


def test_an_emulated_scanner_is_an_argument_of_launch():
    assert "emulated_scanner" in by_name(asked("membrane", scanner="true"))
    assert "emulated_scanner" not in by_name(asked("membrane"))
    with pytest.raises(UsageError, match="an emulated scanner sees nothing of a real robot"):
        asked("membrane", scanner="true", valves="terminal:502")
