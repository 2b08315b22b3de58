"""Nonsense for a robot's nodes, all from one number: what people, broken devices and programs of others may send.

Random messages on the topics that nodes hear, or real ones with one value changed; random requests to their services,
those that lead managed nodes among them, values of their parameters, and goals of their actions, which are cancelled.
"""

import importlib
import math
import random
import re
import time
from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration, Time
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import GetParameters, ListParameters, SetParameters
from rclpy.action import ActionClient
from rclpy.qos import QoSProfile, ReliabilityPolicy

from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.errors import RunError
from soft_twin_ros.calls import call
from soft_twin_ros.qos import COMMAND
from soft_twin_ros.watcher import Watcher

NUMBERS = (0.0, -0.0, 1.0, -1.0, STANDARD_GRAVITY, -STANDARD_GRAVITY, 1e300, -1e300, 1e-300)
NO_NUMBERS = (math.nan, math.inf, -math.inf)
WORDS = ("", "tip", "base_link", "world", "../../etc", 300 * "x", "é☃", "NaN")
PATIENCE = 40.0  # [s] with an answer
MOST = 40  # values in a sequence
SINGLE = 1e38  # what a number of single precision may be
LATE = (0.0, 0.0, 0.0, -0.2, 0.2, -5.0, 5.0, -1e6)  # [s] by which stamps are
SEQUENCE, ARRAY = re.compile(r"sequence<(.+?)(?:, *(\d+))?>"), re.compile(r"(.+)\[(\d+)\]")  # fields' types
INTEGER = re.compile(r"(u?)int(8|16|32|64)")
GOAL = "/_action/send_goal"
OF_PARAMETERS = ("parameters", "parameters_atomically", "parameter_types", "type_description")  # how their services end


class Nonsense:
    """Messages whose values may be anything.

    Attributes:
        random: that all of it comes from.

    Args:
        seed: of it.
        names: that mean something to the nodes: of actuators.
        frame: that they take places in.
    """

    def __init__(self, seed: int, names: Sequence[str] = (), frame: str = "base_link"):
        self.random = random.Random(seed)
        self._names, self._words = list(names), [*WORDS, *names, frame]
        self._plain = {
            "double": self.number,
            "float": lambda: float(np.clip(self.number(), -SINGLE, SINGLE)),  # NaN stays
            "boolean": lambda: self.random.random() < 0.5,
            "octet": lambda: bytes([self.random.randrange(256)]),
            "byte": lambda: bytes([self.random.randrange(256)]),
            "string": lambda: self.random.choice(self._words),
            "builtin_interfaces/Time": lambda: _stamp(time.time() + self.random.choice(LATE)),
            "builtin_interfaces/Duration": lambda: Duration(sec=self.random.choice([0, 1, 3, -1, 2**31 - 1])),
        }

    def filled(self, kind: type) -> Any:
        """A message, request or goal of that type."""
        message = kind()
        for name, of in kind.get_fields_and_field_types().items():
            setattr(message, name, self._value(of))
        return message

    def changed(self, message: Any) -> Any:
        """A copy of a message with one of its values changed, most often stamped now."""
        message = deepcopy(message)
        self._change(message)
        if hasattr(message, "header") and self.random.random() < 0.7:
            message.header.stamp = _stamp(time.time())
        return message

    def number(self) -> float:
        """Of any size."""
        drawn = self.random.uniform(-1.0, 1.0)
        return self.random.choice([*NUMBERS, *NO_NUMBERS, drawn, 0.01 * drawn, 1e4 * drawn])

    def _change(self, message: Any) -> None:
        if not (fields := list(message.get_fields_and_field_types().items())):
            return
        name, of = self.random.choice(fields)
        value = getattr(message, name)
        if hasattr(value, "get_fields_and_field_types"):
            self._change(value)
        elif sequence := SEQUENCE.fullmatch(of):
            setattr(message, name, self._with_a_change(list(value), sequence[1]))
        else:
            setattr(message, name, self._value(of))

    def _with_a_change(self, values: list, of: str) -> list:
        """A value replaced, left out, or added."""
        if values and self.random.random() < 0.7:
            values[self.random.randrange(len(values))] = self._value(of)
            return values
        return values[:-1] if self.random.random() < 0.5 else [*values, self._value(of)]

    def _value(self, of: str) -> Any:
        """Of a field of the type that is so called."""
        if sequence := SEQUENCE.fullmatch(of):
            return self._several(sequence[1], int(sequence[2] or MOST))
        if array := ARRAY.fullmatch(of):
            return [self._value(array[1]) for _ in range(int(array[2]))]
        if integer := INTEGER.fullmatch(of):
            return self._integer(int(integer[2]), signed=not integer[1])
        if (plain := self._plain.get(of.partition("<")[0])) is not None:
            return plain()
        package, name = of.split("/")
        return self.filled(getattr(importlib.import_module(f"{package}.msg"), name))

    def _several(self, of: str, most: int) -> list:
        if of == "string" and self.random.random() < 0.5:
            return list(self._names)
        count = min(self.random.choice([0, 1, 2, len(self._names), 9, MOST]), most)
        return [self._value(of) for _ in range(count)]

    def _integer(self, bits: int, signed: bool) -> int:
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        return self.random.choice([low, high, 0, 1, 2, self.random.randint(low, high)])


class Nuisance:
    """Somebody among a robot's nodes who says, asks, sets and wants nonsense.

    Attributes:
        faults: what was not answered, in words.

    Args:
        watcher: that talks.
        namespace: of the robot.
        names: of its nodes.
        nonsense: to be talked.
    """

    def __init__(self, watcher: Watcher, namespace: str, names: Sequence[str], nonsense: Nonsense):
        self.faults: list[str] = []
        self._node, self._robot, self._names = watcher, f"/{namespace.strip('/')}/", list(names)
        self._nonsense = nonsense
        self._heard: dict[str, Any] = {}
        self._speakers: dict[str, Any] = {}
        self._wishers: dict[str, ActionClient] = {}
        self._listening: set[str] = set()
        self._acts = [self._say, self._ask, self._set, self._want]

    def act(self) -> str:
        """One act, chosen at random; what came of it, in words."""
        self._listen()
        return self._nonsense.random.choices(self._acts, [8, 6, 5, 3])[0]()

    def _topics(self) -> list[tuple[str, str]]:
        """Names and types of the robot's topics."""
        return [
            (name, kinds[0])
            for name, kinds in self._node.get_topic_names_and_types()
            if name.startswith(self._robot) and "/_action/" not in name
        ]

    def _listen(self) -> None:
        """Keep the newest message of each topic."""
        for topic, kind in self._topics():
            if topic not in self._listening:
                self._listening.add(topic)
                hear = partial(self._heard.__setitem__, topic)
                lossy = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
                self._node.create_subscription(_type(kind), topic, hear, lossy)

    def _say(self) -> str:
        """Messages on a topic that a node hears."""
        choose, own = self._nonsense.random, self._node.get_name()
        heard = [
            (topic, kind)
            for topic, kind in self._topics()
            if any(end.node_name != own for end in self._node.get_subscriptions_info_by_topic(topic))
        ]
        if not heard:
            return "nobody listens"
        topic, kind = choose.choice(heard)
        if topic not in self._speakers:
            self._speakers[topic] = self._node.create_publisher(_type(kind), topic, COMMAND)
        for _ in range(choose.choice([1, 1, 3, 20])):
            known = topic in self._heard and choose.random() < 0.7
            message = self._nonsense.changed(self._heard[topic]) if known else self._nonsense.filled(_type(kind))
            self._speakers[topic].publish(message)
            self._node.look(0.005)
        return topic

    def _ask(self) -> str:
        """A request to a service."""
        name, kind = self._nonsense.random.choice(self._services(lambda name: not name.endswith(OF_PARAMETERS)))
        return f"{name}: {self._answer(name, _type(kind), self._nonsense.filled(_type(kind).Request))}"

    def _set(self) -> str:
        """A parameter, now and then to what may be."""
        choose, node = self._nonsense.random, self._robot + self._nonsense.random.choice(self._names)
        told = self._answer(f"{node}/list_parameters", ListParameters, ListParameters.Request())
        if told is None or not told.result.names:
            return f"{node} tells no parameters"
        name = choose.choice(told.result.names)
        value = self._nonsense.filled(ParameterValue)
        if choose.random() < 0.6:
            told = self._answer(f"{node}/get_parameters", GetParameters, GetParameters.Request(names=[name]))
            value = told.values[0] if told is not None and told.values else value
            value.double_value = choose.choice([self._nonsense.number(), 0.5 * value.double_value])
        request = SetParameters.Request(parameters=[Parameter(name=name, value=value)])
        return f"{node} {name}: {self._answer(f'{node}/set_parameters', SetParameters, request)}"

    def _want(self) -> str:
        """A goal of an action, cancelled soon."""
        actions, choose = self._services(lambda name: name.endswith(GOAL), hidden=True), self._nonsense.random
        if not actions:
            return "no actions"
        name, kind = choose.choice(actions)
        name, kind = name.removesuffix(GOAL), _type(kind.removesuffix("_SendGoal"))
        if name not in self._wishers:
            self._wishers[name] = ActionClient(self._node, kind, name)
        wisher = self._wishers[name]
        if not self._done(wisher.server_is_ready, f"{name} is not there"):
            return f"{name} is not there"
        sent = wisher.send_goal_async(self._nonsense.filled(kind.Goal))
        if not self._done(sent.done, f"a goal of {name}") or not sent.result().accepted:
            return f"{name}: not accepted"
        goal = sent.result()
        result = goal.get_result_async()
        self._node.look(choose.choice([0.0, 0.1, 1.0, 3.0]))
        if not result.done():
            self._done(goal.cancel_goal_async().done, f"to cancel a goal of {name}")
        self._done(result.done, f"the result of {name}")
        return f"{name}: {result.result() if result.done() else 'no result'}"

    def _services(self, which: Callable[[str], bool], hidden: bool = False) -> list[tuple[str, str]]:
        """Names and types of the robot's services, of actions where they are `hidden`."""
        return [
            (name, kinds[0])
            for name, kinds in self._node.get_service_names_and_types()
            if name.startswith(self._robot) and ("/_action/" in name) == hidden and which(name)
        ]

    def _answer(self, name: str, kind: type, request: Any) -> Any:
        """Of a service; None, and a fault, where there is none."""
        try:
            return call(self._node, kind, name, request, self._node.wait_for, PATIENCE)
        except RunError as error:
            self.faults.append(f"{error}: {str(request)[:300]}")
            return None

    def _done(self, done: Callable[[], bool], what: str) -> bool:
        """Whether something is there in time; else it is a fault."""
        try:
            self._node.wait_for(done, PATIENCE, lambda: f"no answer: {what}")
        except RunError as error:
            self.faults.append(str(error))
        return done()


def _type(name: str) -> type:
    """Of a message, service or action, such as std_msgs/msg/Empty."""
    package, folder, kind = name.split("/")
    return getattr(importlib.import_module(f"{package}.{folder}"), kind)


def _stamp(seconds: float) -> Time:
    return Time(sec=int(seconds), nanosec=int(seconds % 1.0 * 1e9))
