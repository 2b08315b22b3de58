"""What all nodes of the package share: robot, parameters, diagnostics, and how they start and end."""

import gc
import multiprocessing
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from typing import IO, Any, ClassVar, NoReturn

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.context import Context
from rclpy.exceptions import ParameterException
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions

from soft_twin import load_robot
from soft_twin.errors import SoftTwinError, UsageError
from soft_twin.priority import Preference, prefer_all_threads
from soft_twin.steady_time import steady_now
from soft_twin_ros.conversions import diagnostic
from soft_twin_ros.domain import ros_domain
from soft_twin_ros.executor import Turns, hear_all
from soft_twin_ros.leaving import leave_graph
from soft_twin_ros.node_words import take_words
from soft_twin_ros.only_one import claim_name
from soft_twin_ros.parameter_entries import refuse_unknown_in_files
from soft_twin_ros.parameters import (
    declare,
    parameter,
    refuse_described,
    refuse_unknown,
    refuse_wrong_types,
    refusing_unreadable,
    said_on_command_line,
)
from soft_twin_ros.qos import OVERRIDABLE, SENSOR
from soft_twin_ros.running.health import AWAY, FAILED, READY, WAITING
from soft_twin_ros.running.processes import Interruption

BASE_FRAME = "base_link"
DIAGNOSTICS_PERIOD = 1.0  # [s]
LOOK_PERIOD = 0.1  # [s] how soon a change of health is told
LOGGED_AGAIN = 10.0  # [s] after which a state that comes and goes is worth a line of the log again
NOT_THERE_YET = (WAITING, AWAY)  # states; a driver whose device stays away is an error
NUMBERS = re.compile(r"-?\d+(\.\d+)?(e[+-]\d+)?")  # a message in which only these have changed is no news
SOURCE_LINES = re.compile(r", at \S+:\d+")  # of ROS's own sources, in its messages
NO_TIME = "no time on /clock yet: publish it (`ros2 bag play --clock`), or leave use_sim_time out"
NOT_ACTIVE = "not active: configure and activate this node, or bring_up"
COMPILING = "compiling kernels, once after an installation"
LEAVES_WITHIN = 3.0  # [s] that the leave of a part of a node may take
AGAIN_AFTER = 0.01  # [s] after which it looks again whether it can leave
IDLE_PERIOD = 0.1  # [s] longest sleep of a node that nothing happens to

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR


@dataclass(frozen=True)
class RobotParameters:
    """Parameters that every node has."""

    robot: str = parameter("slender", "name of a robot in config/, or path of its description")


@dataclass(frozen=True)
class Health:
    """A node's health: level, one line for people, and values for programs.

    Among the values is always `state`: "ready", "failed" at the level of an error, where nothing else is said.
    """

    level: bytes = OK
    message: str = "ok"
    values: dict[str, Any] = field(default_factory=dict)

    def for_programs(self) -> dict[str, Any]:
        """The values with the state."""
        return {"state": FAILED if self.level == ERROR else READY} | self.values


def waiting(message: str, values: dict[str, Any] | None = None) -> Health:
    """The health of a node that has nothing to work on yet."""
    return Health(WARN, message, {"state": WAITING} | (values or {}))


class RobotNode(Node):
    """A node of a robot: reads its description, tells its health at 1 Hz and at once when it changes.

    Timers run on a steady clock, so that they also fire under use_sim_time without /clock.

    Attributes:
        base_frame: of its robot.
        active: whether it does its work, which a managed node is asked for.
        computes: whether it has kernels, which it may have to compile.
    """

    active = True
    computes = False
    newest: ClassVar["RobotNode | None"] = None  # of this process, which may still be being made
    _claimed_name: IO[bytes] | None = None
    _tell_no_more: Callable[[], None] | None = None
    _turns: Turns | None = None

    def __init__(self, name: str, parameters: type[RobotParameters]):
        super().__init__(name)
        RobotNode.newest = self
        self._claimed_name = claim_name(self.get_fully_qualified_name())
        self.base_frame = self.frame(BASE_FRAME)
        refuse_unknown(said_on_command_line(sys.argv, self.get_name()), parameters, "-p")
        refuse_unknown_in_files(sys.argv, self.get_fully_qualified_name(), parameters)
        self.parameters = declare(self, parameters, self._adopt)
        self.robot = load_robot(self.parameters.robot)
        refuse_described(self.robot.path, name, self.robot.nodes.get(name, {}), parameters)
        self.steady_clock = Clock(clock_type=ClockType.STEADY_TIME)
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", SENSOR)
        self._told: tuple[bytes, str] | None = None
        self._next_telling = 0.0
        self._logged: dict[tuple[bytes, str], float] = {}
        self._logged_level = OK
        self.create_steady_timer(LOOK_PERIOD, self._tell_health)
        if self.computes:
            from soft_twin.compiling import tell_of_compiling  # numba, that drivers need not load

            self._tell_no_more = tell_of_compiling(self._tell_compiling)

    def health(self) -> Health:
        """The node's health now."""
        return Health()

    def begin(self) -> None:
        """Called once, when the node has an executor."""

    @property
    def has_work(self) -> bool:
        """Whether there is something to `work` on."""
        return False

    def look_for_work(self) -> None:
        """Called, in the node's thread, where there may be work from now on; else it waits for `IDLE_PERIOD`."""
        if self.has_work:
            self.stir()

    def stir(self) -> None:
        """What a callback awaits is there: called by other threads, or it is seen when something else happens."""
        if self._turns is not None:
            self._turns.stir()

    def spin(self, interruption: Interruption) -> NoReturn:
        """Call back and work until it is interrupted."""
        self._turns = Turns(self)
        self.begin()
        while True:
            interruption.check()
            self._turns.take(IDLE_PERIOD)
            if self.has_work:
                hear_all(self._turns.executor)
                if self.has_work:  # nobody has deactivated it meanwhile
                    self.work()

    def work(self) -> None:
        """Called when there is work, after all that came in has been heard: what is too long for a callback."""

    def adopt(self, old: Any, new: Any) -> None:
        """Parameters have been set: do what they ask for beyond being in `self.parameters` from now on.

        Raises:
            SoftTwinError: they cannot be; nothing changes.
        """

    def close(self) -> None:
        """Bring what the node owns into its safe state."""

    def unplug(self) -> None:
        """Take away what other nodes may be using, drivers that are asked to end at the same time; called last."""

    def frame(self, name: str) -> str:
        """A frame of this robot: its name with the namespace before it, so that several robots have frames of their
        own."""
        return f"{self.get_namespace()}/{name}".lstrip("/")

    def now(self) -> float:
        """The node's time [s]."""
        return self.get_clock().now().nanoseconds * 1e-9

    def steady_now(self) -> float:
        """Time that nobody sets, and that passes while the host sleeps, too [s]."""
        return steady_now()

    def offer(self, kind: type, topic: str, qos=SENSOR):
        """A publisher whose quality of service can be overridden.

        Raises:
            UsageError: by what is none.
        """
        with _told_of(topic):
            return self.create_publisher(kind, topic, qos, qos_overriding_options=OVERRIDABLE)

    def listen(self, kind: type, topic: str, callback, qos):
        """A subscription whose quality of service can be overridden; what it brings may be work.

        Raises:
            UsageError: by what is none.
        """

        def hear(message: Any) -> None:
            callback(message)
            self.look_for_work()

        with _told_of(topic):
            return self.create_subscription(kind, topic, hear, qos, qos_overriding_options=OVERRIDABLE)

    def offer_waiting(self, kind: type, service: str, callback):
        """A service whose callback awaits long work: in a group of its own, where it keeps nobody from being heard."""
        return self.create_service(kind, service, callback, callback_group=ReentrantCallbackGroup())

    def destroy_node(self) -> None:
        """As rclpy does it, and also what it leaves that holds the node: others would see it for another minute."""
        if self._tell_no_more is not None:
            self._tell_no_more()
        if self._turns is not None:
            self._turns.executor.shutdown()
        for waitable in tuple(self.waitables):
            if hasattr(waitable, "destroy"):  # servers of actions
                waitable.destroy()
        super().destroy_node()
        machine = getattr(self, "_state_machine", None)  # of a managed node
        if machine is not None:
            machine.destroy_when_not_in_use()
        if self._claimed_name is not None:
            self._claimed_name.close()

    def set_parameters_atomically(self, parameter_list: list[Parameter]) -> SetParametersResult:
        """As rclpy does it, behind every way to set parameters, with words for unknown names and values of a wrong
        type."""
        try:
            undeclared = [each.name for each in parameter_list if not self.has_parameter(each.name)]
            refuse_unknown(undeclared, type(self.parameters), self.get_name())
            refuse_wrong_types(parameter_list, type(self.parameters))
        except SoftTwinError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return super().set_parameters_atomically(parameter_list)

    def create_service(self, srv_type: type, srv_name: str, callback, **options):
        """As rclpy does it; its own services that set parameters refuse what they cannot read."""
        if srv_type in (SetParameters, SetParametersAtomically):
            callback = refusing_unreadable(srv_type, callback)
        return super().create_service(srv_type, srv_name, callback, **options)

    def create_steady_timer(self, period: float, callback):
        return self.create_timer(period, callback, clock=self.steady_clock)

    def _adopt(self, old: Any, new: Any) -> None:
        self.adopt(old, new)
        self.parameters = new
        for name in (each.name for each in fields(new)):
            if (before := getattr(old, name)) != (now := getattr(new, name)):
                self.get_logger().info(f"parameter {name} = {now} from now on, it was {before}")

    def _tell_health(self) -> None:
        health = self.health() if self.active else waiting(NOT_ACTIVE)
        state, now = (health.level, NUMBERS.sub("", health.message)), self.steady_now()
        if state == self._told and now < self._next_telling:
            return
        if state != self._told and self._is_news(state, now):
            self._log(health)
        self._told, self._next_telling = state, now + DIAGNOSTICS_PERIOD
        self._publish_health(health)

    def _is_news(self, state: tuple[bytes, str], now: float) -> bool:
        """Whether a change belongs into the log: errors and their ends do, what else comes and goes is told now and
        then."""
        error = ERROR in (state[0], self._logged_level)
        self._logged = {each: at for each, at in self._logged.items() if now - at < LOGGED_AGAIN}
        if state in self._logged and not error:
            return False
        self._logged[state], self._logged_level = now, state[0]
        return True

    def _tell_compiling(self, count: int) -> None:
        """While it compiles a node does nothing else: who watches it wants to know."""
        if count == 1:
            self.get_logger().info(f"{COMPILING}: a minute at most; `soft-twin compile` does it before")
        self._publish_health(waiting(f"{COMPILING}: {count} so far"))

    def _publish_health(self, health: Health) -> None:
        name = self.get_fully_qualified_name().removeprefix("/")
        message = DiagnosticArray()
        message.header.stamp = self.get_clock().now().to_msg()
        message.status = [diagnostic(name, self.robot.name, health.level, health.message, health.for_programs())]
        self._diagnostics.publish(message)

    def _log(self, health: Health) -> None:
        """Each level from a line of its own: rclpy lets a line of code log at one level only.

        That it waits for what has yet to start is no warning to who reads a start's log.
        """
        if health.level == ERROR:
            self.get_logger().error(health.message)
        elif health.level == WARN and health.values.get("state") not in NOT_THERE_YET:
            self.get_logger().warning(health.message)
        else:
            self.get_logger().info(health.message)


@contextmanager
def _told_of(topic: str) -> Iterator[None]:
    """What rclpy cannot make of a topic's overridden quality of service, as the user's mistake.

    Raises:
        UsageError: with the topic.
    """
    try:
        yield
    except RuntimeError as error:  # rclpy has no kind of its own for it
        raise UsageError(f"topic {topic}: {SOURCE_LINES.sub('', str(error))}") from error


def start_ros(words: Sequence[str], context: Context | None = None) -> None:
    """Start ROS's client library, without its handlers of signals, which would end the context too early.

    Args:
        words: the command line.
        context: that is started; without, the process's.

    Raises:
        UsageError: it cannot be, as with arguments or a file of parameters that make no sense.
    """
    try:
        rclpy.init(args=list(words), context=context, signal_handler_options=SignalHandlerOptions.NO)
    except rclpy_implementation.UnknownROSArgsError as error:
        raise UsageError(f"ROS cannot start: unknown arguments {error}") from error
    except rclpy_implementation.RCLError as error:
        raise UsageError(f"ROS cannot start: {SOURCE_LINES.sub('', str(error))}") from error


def run(node_class: type[RobotNode], urgent: bool = False) -> NoReturn:
    """Run a node until it is interrupted or terminated, and end the process.

    An `urgent` node has a thread that must not be late, and no other one that computes for long.

    Its exit status is 0: ended on request; 2: it could not start, one line on stderr says why.
    """
    take_words(sys.argv, node_class)
    sys.setswitchinterval(5e-4)  # a thread that computes must not hold back one that communicates
    interruption = Interruption(_abandon)  # compilers that call Python take exceptions for themselves
    node, status, preference = None, 0, Preference()
    try:
        ros_domain()
        start_ros(sys.argv)
        node = node_class()
        gc.freeze()  # what a start leaves behind stays: to look through it halts a node for 0.04 s
        if not (urgent and prefer_all_threads()):
            preference.start()
        interruption.defer()
        signal.setitimer(signal.ITIMER_REAL, 0.0)  # from here on it ends as below, after it has closed
        node.spin(interruption)
    except KeyboardInterrupt:
        pass
    except (SoftTwinError, ParameterException) as error:
        print(f"{node_class.__name__}: {error}", file=sys.stderr)
        status = 2
    finally:
        interruption.defer()
        if node is not None:
            node.close()
            leave_graph(node)
            node.unplug()
        elif RobotNode.newest is not None:
            with suppress(Exception):  # of a part of a node; why it could not start has been said
                leave_graph(RobotNode.newest)
        rclpy.try_shutdown()
        preference.close()
    _leave(status)


def _abandon() -> None:
    """Leave while the node is still being made, in a signal's handler: wherever the program is just now.

    Where that is in ROS's client library, which destroys nothing that it uses, try again soon.
    """
    frame = sys._getframe()
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] == "rclpy":
            signal.signal(signal.SIGALRM, lambda *_: _abandon())
            signal.setitimer(signal.ITIMER_REAL, AGAIN_AFTER)
            return
        frame = frame.f_back
    if RobotNode.newest is not None:
        end = threading.Timer(LEAVES_WITHIN, os._exit, (0,))
        end.daemon = True
        end.start()
        with suppress(Exception):
            leave_graph(RobotNode.newest)
    _leave(0)


def _leave(status: int) -> NoReturn:
    """End the process now: taking the interpreter apart takes seconds on a busy machine, and nobody needs it."""
    for child in multiprocessing.active_children():
        child.kill()
    for stream in (sys.stdout, sys.stderr):
        with suppress(RuntimeError, OSError):  # it is just being written to, or nobody reads it any longer
            stream.flush()
    os._exit(status)
