"""What the launch files share. Needs ROS's `launch` and `launch_ros`."""

import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch import Action, LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown, TimerAction
from launch.events.process import ProcessExited
from launch.logging import get_logger
from launch_ros.actions import Node

from soft_twin.descriptions.valve_devices import LONGEST_VENTING
from soft_twin.errors import RunError, UsageError
from soft_twin.resources import folder
from soft_twin_ros.driver_names import CHAMBERS
from soft_twin_ros.only_one import refuse_taken
from soft_twin_ros.parent import ENDS_WITH, ENDS_WITHIN, accompanied
from soft_twin_ros.ros_packages import remedy_for
from soft_twin_ros.running.arguments import (
    OF_A_ROBOT,
    OF_EACH_ROBOT,
    SHARED,
    Argument,
    RobotRequest,
    Shared,
    complete,
    refuse_unknown,
    robots_of,
)
from soft_twin_ros.running.ending import CANNOT_START, ending
from soft_twin_ros.running.graph import NodeSpec, own_folder
from soft_twin_ros.running.processes import SINGLE_THREAD, on_this_machine, outliving_each_other
from soft_twin_ros.running.rviz_view import Shown, write_view

PACKAGE = "soft_twin"
PUSHED_NAMESPACE = "ros_namespace"  # where launch_ros keeps what PushRosNamespace says
OF_LAUNCH = ("launch-prefix", "launch-prefix-filter", "emulate_tty")  # words that launch heeds whatever file it starts
RESPAWN_DELAY = 1.0  # [s]
SIGINT_PATIENCE, SIGTERM_PATIENCE = "1.5", "0.5"  # [s] until a node that does not end is asked again, and is killed
VENTING_PATIENCE = LONGEST_VENTING + 5.0  # [s] for the driver of real valves, whose device may hold pressures for ever


def launched(
    arguments: Mapping[str, Argument], actions: Callable[[dict[str, str], str], list[Action]]
) -> LaunchDescription:
    """A launch description with these arguments, and the actions that their values ask for, within the namespace that
    launch files which include it have pushed.

    What the user has typed and is no argument, nor one that launch heeds by itself, is refused. Launch files that
    include this one have arguments of their own, which it is also given: then nothing can be told from nothing.
    """

    def act(context: LaunchContext) -> list[Action]:
        if _is_asked_for(context.get_locals_as_dict()["current_launch_file_path"], sys.argv):
            said = (word.partition(":=")[0] for word in context.argv if ":=" in word)
            refuse_unknown(arguments, (name for name in said if name not in OF_LAUNCH))
        names = {name for key, argument in arguments.items() for name in (key, *argument.aliases)}
        given = context.launch_configurations
        values = complete(arguments, {name: given[name] for name in names & given.keys()})
        return actions(values, given.get(PUSHED_NAMESPACE, ""))

    declared = [
        DeclareLaunchArgument(name, default_value=argument.default, description=argument.description)
        for name, argument in arguments.items()
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=act)])


def _is_asked_for(file: str, words: Sequence[str]) -> bool:
    """Whether a command line names this file of this package, and not one of a laboratory that includes it, which may
    have the same name: by a path that leads to it, or by its name behind the package's."""
    path = os.path.realpath(file)
    return any(
        os.path.realpath(word) == path or (before == PACKAGE and word == os.path.basename(file))
        for before, word in pairwise(["", *words])
    )


def robot_launch(robot: str) -> LaunchDescription:
    """The launch description of one robot; `robot` is the default of the argument of that name."""
    default = Argument(robot, OF_A_ROBOT["robot"].description)
    return launched(
        OF_A_ROBOT | {"robot": default} | SHARED,
        lambda values, within: actions_of([RobotRequest.of(values, within)], Shared.of(values)),
    )


def robots_launch() -> LaunchDescription:
    """The launch description of several robots."""
    robots = Argument("", "a list of robots, or {namespace: robot, …}, or a YAML file with either")

    def actions(values: dict[str, str], within: str) -> list[Action]:
        of_each = {name: values[name] for name in OF_EACH_ROBOT}
        return actions_of(robots_of(values["robots"], of_each, within), Shared.of(values))

    return launched({"robots": robots} | OF_EACH_ROBOT | SHARED, actions)


def actions_of(requests: list[RobotRequest], shared: Shared) -> list[Action]:
    """What is started for these robots."""
    _check(shared, [spec for request in requests for spec in request.specs])
    actions = [node_action(spec, shared, request.emulated) for request in requests for spec in request.specs]
    if shared.rviz:
        actions.append(_rviz(requests, shared))
    if shared.view:
        actions.append(_foxglove(shared))
    if shared.aggregator:
        actions.append(_aggregator(shared))
    return actions


def lone_node(spec: NodeSpec, shared: Shared) -> list[Action]:
    """What is started for a node without a robot."""
    _check(shared, [spec])
    return [node_action(spec, shared, emulated=False)]


def _check(shared: Shared, specs: Sequence[NodeSpec]) -> None:
    """See that the file of parameters is one for these nodes, and that they do not run already.

    Raises:
        UsageError: it is not, or one does.
    """
    if shared.params_file:
        from soft_twin_ros.running.parameter_file import check_parameter_file  # which loads the nodes

        check_parameter_file(shared.params_file, specs)
    refuse_taken(f"/{spec.namespace}/{spec.name}" for spec in specs)


def node_action(spec: NodeSpec, shared: Shared, emulated: bool) -> Node:
    """One node of this package. It ends with the launch, and the launch with it unless it is started again."""
    environment = SINGLE_THREAD | outliving_each_other() | (on_this_machine() if emulated else {})
    vents = spec.executable == CHAMBERS and not emulated
    return Node(
        package=PACKAGE,
        executable=spec.executable,
        name=spec.name,
        namespace=f"/{spec.namespace}",
        parameters=[{**spec.parameters, **_time(shared)}, *([shared.params_file] if shared.params_file else [])],
        additional_env={name: value for name, value in environment.items() if name not in os.environ}
        | _with_this()
        | ({ENDS_WITHIN: str(VENTING_PATIENCE)} if vents else {}),
        output="screen",
        sigterm_timeout=str(VENTING_PATIENCE) if vents else SIGINT_PATIENCE,
        sigkill_timeout=SIGTERM_PATIENCE,
        on_exit=partial(_ended, spec, shared, emulated),
    )


def _ended(
    spec: NodeSpec, shared: Shared, emulated: bool, event: ProcessExited, context: LaunchContext
) -> list[Action]:
    """What the end of a node leads to. ROS's own `respawn` would start again what cannot start, for ever.

    Raises:
        RunError: the launch ends with it, with status 1.
    """
    if context.is_shutdown:
        return []
    told, log = ending(spec, event.returncode, shared.respawn), get_logger("launch")
    if shared.respawn and event.returncode == CANNOT_START:
        log.error(told)
        return []
    if shared.respawn:
        log.warning(told)
        return [TimerAction(period=RESPAWN_DELAY, actions=[node_action(spec, shared, emulated)])]
    if event.returncode:
        raise RunError(told)
    log.info(told)
    return [Shutdown(reason=told)]


def foreign_action(package: str, remedy: str, executable: str = "", **words: Any) -> Node:
    """A node of others. It ends with the launch, too.

    Args:
        package: of ROS.
        remedy: what to do where it is not installed.
        executable: its program, where that is not called as the package is.
        words: for `Node`.

    Raises:
        UsageError: it is not installed.
    """
    try:
        get_package_prefix(package)
    except PackageNotFoundError as error:
        raise UsageError(f"the ROS package '{package}' is not installed: {remedy}") from error
    return Node(
        package=package,
        executable=executable or package,
        prefix=shlex.join(accompanied()),
        additional_env=_with_this(),
        sigterm_timeout=SIGINT_PATIENCE,
        sigkill_timeout=SIGTERM_PATIENCE,
        **words,
    )


def _with_this() -> dict[str, str]:
    """The environment of processes that shall end with this one."""
    return {ENDS_WITH: str(os.getpid())}


def _time(shared: Shared) -> dict[str, Any]:
    return {"use_sim_time": True} if shared.use_sim_time else {}


def _rviz(requests: list[RobotRequest], shared: Shared) -> Node:
    first = requests[0]
    path = own_folder(first.robot.name, first.namespace) / "view.rviz"
    shown = [Shown(request.robot.name, request.namespace, request.place) for request in requests]
    view = write_view(shown, path)
    remedy = f"{remedy_for('rviz2')}, or leave rviz:=true out"
    return foreign_action("rviz2", remedy, arguments=["-d", str(view)], parameters=[_time(shared)])


def _foxglove(shared: Shared) -> Node:
    remedy = f"{remedy_for('foxglove_bridge')}, or leave view:=true out"
    return foreign_action("foxglove_bridge", remedy, parameters=[_time(shared)])


def _aggregator(shared: Shared) -> Node:
    package = "diagnostic_aggregator"
    remedy = f"{remedy_for(package)}, or leave aggregator:=true out"
    groups = str(folder("launch") / "diagnostics.yaml")
    return foreign_action(package, remedy, "aggregator_node", parameters=[groups, _time(shared)])
