"""The launch files under ROS's own launch, with small programs in the nodes' places."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import yaml
from sensor_msgs.msg import JointState
from soft_twin_msgs.msg import Pressures
from std_srvs.srv import SetBool

from soft_twin import load_robot
from soft_twin.emulation.openpneu import EmulatedOpenPneu
from soft_twin.resources import folder
from soft_twin_ros.conversions import joint_state, pressures_message

pytest.importorskip("launch_ros", reason="ROS's packages launch and launch_ros are not installed")

PATIENCE = 60.0  # [s] of a busy machine that starts something
ENDS_WITHIN = 3.0  # [s] on a quiet one, until nothing is left
PROGRAMS = {"diagnostic_aggregator": "aggregator_node"}  # of packages whose program has another name
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
NODES = (
    *("emulated_robot", "imu_to_gravity", "gravity_to_cables", "cables_to_motors", "pressures_to_valves"),
    *("recorder", "shape_to_pressures", "emulated_arm", "struts_to_shape"),
)
LAUNCH = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import AnyLaunchDescriptionSource
file, *words = sys.argv[1:]
service = LaunchService(argv=words, noninteractive=True)
arguments = [tuple(word.split(":=", 1)) for word in words]
source = AnyLaunchDescriptionSource(file)
service.include_launch_description(LaunchDescription([IncludeLaunchDescription(source, launch_arguments=arguments)]))
sys.exit(service.run())
"""
NODE = """#!{python}
import os, sys, time
from pathlib import Path
import soft_twin_ros
name = Path(sys.argv[0]).name
words = " ".join(sys.argv[1:])
file = Path({folder!r}) / (name + "." + words.split("__ns:=/")[1].split()[0].replace("/", "."))
file.write_text("\\n".join([str(os.getpid()), os.environ.get("OPENBLAS_NUM_THREADS", ""), words]))
while not (dies := Path({folder!r}, name + ".dies")).exists():
    time.sleep(0.05)
sys.exit(int(dies.read_text()))
"""

FOREIGN = """#!{python}
import os, signal, time
from pathlib import Path
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
Path({folder!r}, {name!r}).write_text(f"{{os.getpid()}}\\n\\n")
time.sleep(600)
"""
REAL = """#!/bin/sh
exec {python} -m soft_twin_ros.{name} "$@"
"""


@pytest.fixture
def launch(tmp_path, monkeypatch):
    """Starts a launch file in a process of its own, where the package's nodes only write down who they are."""
    prefix, told = tmp_path / "prefix", tmp_path / "told"
    index = prefix / "share" / "ament_index" / "resource_index" / "packages"
    for path in (index, told):
        path.mkdir(parents=True)

    def install(package, name, text):
        program = prefix / "lib" / package / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(text.format(python=sys.executable, folder=str(told), name=name))
        program.chmod(0o700)
        (index / package).touch()

    for name in NODES:
        install("soft_twin", name, NODE)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(prefix))
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path))
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)  # a user has not set it, whatever tests are run by
    started = []

    def start(name, *arguments):
        file = folder("launch") / f"{name}.launch.py" if isinstance(name, str) else name
        words = [sys.executable, "-c", LAUNCH, str(file), *arguments]
        started.append(subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        return started[-1]

    start.told, start.install = told, install
    yield start
    for process in started:
        process.kill()
        process.wait()


def wait_for(condition, patience=PATIENCE):
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def nodes_of(launch, count):
    """Ids of the nodes' processes, when so many have started."""
    wait_for(lambda: len(started(launch)) == count)
    return [int(file.read_text().split("\n")[0]) for file in started(launch)]


def started(launch):
    """What nodes have written."""
    return [file for file in launch.told.iterdir() if file.suffix not in (".dies", ".tmp") and file.read_text()]


def has_ended(pid):
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def end_of(process, pids, number):
    """See that nothing is left soon after this signal."""
    process.send_signal(number)
    wait_for(lambda: all(map(has_ended, [process.pid, *pids])), ENDS_WITHIN * max(1.0, os.getloadavg()[0]))


@pytest.mark.parametrize("number", SIGNALS)
def test_nothing_is_left_however_the_launch_ends(launch, number):
    process = launch("slender")
    end_of(process, nodes_of(launch, 4), number)


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize(
    ("name", "package", "arguments", "count"),
    [
        ("micro_ros_imu", "micro_ros_agent", (), 1),
        ("slender", "rviz2", ("rviz:=true",), 5),
        ("slender", "diagnostic_aggregator", ("aggregator:=true",), 5),
    ],
)
def test_programs_of_others_end_with_the_launch_though_they_listen_to_nobody(
    launch, name, package, arguments, count, number
):
    launch.install(package, PROGRAMS.get(package, package), FOREIGN)
    process = launch(name, *arguments)
    end_of(process, nodes_of(launch, count), number)


@pytest.mark.parametrize("number", SIGNALS)
def test_motors_let_go_however_the_launch_ends(launch, motors, listener, slender, number):
    launch.install("soft_twin", "cables_to_motors", REAL)
    process = launch("slender", f"can:={motors.bus.port.path}", "imu:=/nowhere")
    publisher = listener.node.create_publisher(JointState, "cables/command", 1)

    def drives():
        publisher.publish(joint_state(time.time(), slender.cable_names, np.full(6, 1e-3), np.zeros(6)))
        listener.spin(0.03)
        if not listener.says("cables_to_motors", "active"):
            listener.enable()
        return not np.all(motors.bus.motors.limp)

    wait_for(drives)
    end_of(process, nodes_of(launch, 2), number)
    wait_for(lambda: np.all(motors.bus.motors.limp), ENDS_WITHIN)


@pytest.fixture
def openpneu():
    """One whose time passes."""
    device, closing = EmulatedOpenPneu(), threading.Event()

    def run():
        while not closing.wait(0.01):
            device.step(0.01)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    yield device
    closing.set()
    thread.join()
    device.close()


@pytest.mark.parametrize("number", SIGNALS)
def test_chambers_are_vented_slowly_and_to_the_end_however_the_launch_ends(
    launch, openpneu, listener_class, tmp_path, number
):
    launch.install("soft_twin", "pressures_to_valves", REAL)
    slow = {"/valves/pressures_to_valves": {"ros__parameters": {"vent_rate": 8e3}}}  # 3.75 s from the highest
    (tmp_path / "slow.yaml").write_text(yaml.safe_dump(slow))
    process = launch("valves", f"valves:={openpneu.address}", "highest:=30e3", f"params_file:={tmp_path / 'slow.yaml'}")
    listener = listener_class("valves")
    publisher = listener.node.create_publisher(Pressures, "chambers/command", 1)

    def drives():
        publisher.publish(pressures_message(time.time(), ["chamber_1"], [30e3]))
        listener.spin(0.03)
        if listener.says("pressures_to_valves", "ready to be enabled"):
            listener.call(SetBool, "enable", SetBool.Request(data=True))
        return openpneu.chambers.pressures[0] > 28e3

    wait_for(drives)
    pids = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.send_signal(number)
    time.sleep(2.5)
    assert openpneu.running and openpneu.chambers.pressures[0] > 5e3
    wait_for(lambda: all(map(has_ended, [process.pid, *pids])))
    assert not openpneu.running and openpneu.chambers.pressures[0] < 2e3
    listener.close()


@pytest.mark.parametrize(
    ("status", "launches", "says"),
    [
        (2, 1, "/slender/imu_to_gravity could not start: mend what it says above, then launch again"),
        (
            1,
            1,
            "/slender/imu_to_gravity ended with status 1 (a fault in its program, the lines above are its own",
        ),
        (0, 0, "/slender/imu_to_gravity has ended without an error: so does the launch"),
    ],
)
def test_the_end_of_a_node_ends_the_launch_with_a_line_and_a_status(launch, status, launches, says):
    process = launch("slender")
    nodes = nodes_of(launch, 4)
    die(launch, "imu_to_gravity", status)
    said = process.communicate(timeout=PATIENCE)[0]
    assert len([line for line in said.splitlines() if says in line]) == 1, said
    assert process.returncode == launches and "Traceback" not in said
    wait_for(lambda: all(has_ended(pid) for pid in nodes))


def die(launch, name, status):
    """A node ends as soon as it looks, and so do those that are started in its place until the file is gone."""
    file = launch.told / f"{name}.dies"
    file.with_suffix(".tmp").write_text(str(status))
    file.with_suffix(".tmp").rename(file)


def test_a_node_is_started_again_but_not_one_that_cannot_start(launch):
    process = launch("slender", "respawn:=true")
    before = nodes_of(launch, 4)
    file = launch.told / "imu_to_gravity.slender"
    first = file.read_text()
    die(launch, "imu_to_gravity", 1)
    wait_for(lambda: file.read_text() not in ("", first))
    die(launch, "imu_to_gravity", 2)
    with process.stdout:
        for line in process.stdout:
            if "could not start, and is not started again" in line:
                break
        (launch.told / "imu_to_gravity.dies").unlink()
        second = file.read_text()
        time.sleep(2.0)
        assert file.read_text() == second  # twice the delay later
        end_of(process, before, signal.SIGINT)


def test_several_robots_have_namespaces_and_one_thread_each(launch):
    process = launch("robots", "robots:={left: slender, right: slender}", "use_sim_time:=true")
    nodes_of(launch, 8)
    process.send_signal(signal.SIGINT)
    told = {file.name: file.read_text().split("\n") for file in launch.told.iterdir()}
    assert {name.rsplit(".", 1)[1] for name in told} == {"left", "right"}
    assert {threads for _, threads, _ in told.values()} == {"1"}


@pytest.mark.parametrize(
    ("words", "niceness"),
    [
        (("launch-prefix:=nice -n 7",), 7),
        (("launch-prefix:=nice -n 7", "launch-prefix-filter:=recorder", "emulate_tty:=true"), 0),
    ],
)
def test_what_ros2_launch_asks_of_any_file_is_no_unknown_argument(launch, words, niceness):
    process = launch("slender", *words)
    nodes, here = nodes_of(launch, 4), os.getpriority(os.PRIO_PROCESS, 0)
    assert {os.getpriority(os.PRIO_PROCESS, node) - here for node in nodes} == {niceness}
    end_of(process, nodes, signal.SIGINT)


@pytest.mark.parametrize(
    ("name", "argument", "message"),
    [
        ("slender", "use_simtime:=true", "there is no argument 'use_simtime': did you mean 'use_sim_time'?"),
        ("arm", "rviz:=true", "the ROS package 'rviz2' is not installed: apt install"),
        ("arm", "aggregator:=true", "the ROS package 'diagnostic_aggregator' is not installed: apt install"),
        ("micro_ros_imu", "imu:=/dev/a", "no distribution releases it: build it in a workspace with"),
        ("membrane", "weights:=/nowhere", "weights /nowhere: there is no such file; `soft-twin train membrane` writes"),
        ("valves", "respawn:=maybe", "respawn:=maybe: expected true or false"),
        ("valves", "highest:=80kPa", "highest:=80kPa: expected a number [Pa]"),
        ("valves", "namespace:=1bad", "namespace:=1bad: expected letters, digits and _"),
        ("micro_ros_imu", "namespace:=1bad", "namespace:=1bad: expected letters, digits and _"),
        ("slender", "valves:=/dev/x", "valves:=/dev/x: 'slender' has no such device, only imu, can"),
        ("robots", "namespace:=x", "'namespace' is an argument of each robot: robots:='{x: slender}'"),
        ("slender", "params_file:=PARAMETERS", "there is no parameter 'hold_aftr': did you mean 'hold_after'?"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(launch, tmp_path, name, argument, message):
    (tmp_path / "mine.yaml").write_text("/**: {ros__parameters: {hold_aftr: 0.3}}")
    said = launch(name, argument.replace("PARAMETERS", str(tmp_path / "mine.yaml"))).communicate(timeout=PATIENCE)[0]
    assert [line for line in said.splitlines() if message in line]
    assert "Traceback" not in said


LABS = """
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import AnyLaunchDescriptionSource


def generate_launch_description():
    ours = IncludeLaunchDescription(AnyLaunchDescriptionSource({file!r}))
    return LaunchDescription([DeclareLaunchArgument("camera", default_value="none"), ours])
"""


def test_a_laboratorys_own_launch_file_may_have_the_name_of_ours_and_arguments_of_its_own(launch, tmp_path):
    own = tmp_path / "slender.launch.py"
    own.write_text(LABS.format(file=str(folder("launch") / "slender.launch.py")))
    launch(own, "camera:=front", "namespace:=left")
    nodes_of(launch, 4)
    assert {file.name.rsplit(".", 1)[1] for file in launch.told.iterdir()} == {"left"}


PUSHED = """
from launch import LaunchDescription
from launch.actions import GroupAction, IncludeLaunchDescription
from launch.launch_description_sources import AnyLaunchDescriptionSource
from launch_ros.actions import PushRosNamespace


def generate_launch_description():
    ours = IncludeLaunchDescription(AnyLaunchDescriptionSource({file!r}), launch_arguments=[("params_file", {mine!r})])
    return LaunchDescription([GroupAction([PushRosNamespace("cell"), ours])])
"""


def test_a_laboratory_may_push_a_namespace_around_ours(launch, tmp_path):
    mine = tmp_path / "mine.yaml"
    mine.write_text("/cell/slender/cables_to_motors: {ros__parameters: {hold_after: 0.3}}")
    own = tmp_path / "lab.launch.py"
    own.write_text(PUSHED.format(file=str(folder("launch") / "slender.launch.py"), mine=str(mine)))
    launch(own)
    nodes_of(launch, 4)
    assert {file.name.split(".", 1)[1] for file in launch.told.iterdir()} == {"cell.slender"}


def test_what_is_said_of_several_robots_holds_for_each(launch):
    launch("robots", "robots:=[slender, tm40]", "recording:=first")
    nodes_of(launch, 8)
    assert parameters_of(launch, "recorder.tm40")["path"] == "first_tm40"


def test_valves_of_any_robot_are_started_by_themselves(launch):
    launch("valves", "chambers:=left, right", "device:=/dev/pneu")
    nodes_of(launch, 1)
    assert "__ns:=/valves" in (launch.told / "pressures_to_valves.valves").read_text()
    assert parameters_of(launch, "pressures_to_valves.valves")["chambers"] == ("left", "right")


def parameters_of(launch, name):
    """What a node is started with, while the launch lives."""
    words = (launch.told / name).read_text().split("\n")[2].split()
    files = [Path(after) for word, after in zip(words, words[1:], strict=False) if word == "--params-file"]
    (content,) = [yaml.full_load(file.read_text()) for file in files]  # in which launch_ros has lists as tuples
    ((_, node),) = content.items()
    return node["ros__parameters"]


def test_weights_have_shapes_taken_and_words_stay_words(launch, tmp_path):
    weights = tmp_path / "run 2: soft #1.safetensors"
    weights.touch()
    launch("membrane", f"weights:={os.path.relpath(weights)}", "recording:=20261124", "valves:=502", "imu:=on")
    nodes_of(launch, 4)
    assert parameters_of(launch, "shape_to_pressures.membrane") == {
        "robot": str(load_robot("membrane").path),
        "weights": str(weights),
    }
    assert parameters_of(launch, "recorder.membrane")["path"] == "20261124"
    assert parameters_of(launch, "pressures_to_valves.membrane")["device"] == "502"
    assert parameters_of(launch, "imu_to_gravity.membrane")["device"] == "on"
