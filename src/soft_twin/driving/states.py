"""The one state machine of every driver: its states, what may be asked of it, and the answer to each in each state.

The table is data. Control, driver and session ask it what they may do; tests enumerate it; docs/driving.md draws it.
Besides the table's own refusals an accepted command may find that its device cannot: a motor is silent, say.
"""

from dataclasses import dataclass
from enum import Enum

from soft_twin.errors import DeviceError


class State(Enum):
    """What the actuators of a robot are, all of them together.

    AWAY: no device is open. LIMP: the node is not active, nothing moves whatever is asked. POSITION_UNKNOWN: limp, and
    nobody knows where the coordinates' zero is. HOMING: it is being found. READY: relaxed, and may be enabled. ACTIVE:
    driven; it holds while commands stay away. STOPPED: relaxed by a latched stop. FAULT: relaxed by what is named.
    """

    AWAY = "away"
    LIMP = "limp"
    POSITION_UNKNOWN = "position unknown"
    HOMING = "homing"
    READY = "ready"
    ACTIVE = "active"
    STOPPED = "stopped"
    FAULT = "fault"


class Command(Enum):
    """What may be asked of a session; the values are the names of its methods."""

    CONNECT = "connect"
    DISCONNECT = "disconnect"
    ACTIVATE = "activate"
    DEACTIVATE = "deactivate"
    MOVE = "command"
    ENABLE = "enable"
    RELAX = "relax"
    STOP = "stop"
    CLEAR_STOP = "clear_stop"
    HOME = "home"
    TAKE_UP_SLACK = "take_up_slack"
    ASSUME_TAUT_HERE = "assume_taut_here"


class Event(Enum):
    """What happens to a session without anybody asking."""

    DEVICE_LOST = "the device is gone"
    DEVICE_FOUND = "the device is there again"
    POSITION_LOST = "a rotor may have turned unseen"
    FAULT_FOUND = "something is wrong"
    NO_COMMANDS = "commands stay away"
    HOMED = "every cable is taut"


@dataclass(frozen=True)
class Answer:
    """What a command comes to.

    Attributes:
        next: the states it may lead to; which of several, the device's own knowledge decides. Empty: it is refused.
        reason: why it is refused.
    """

    next: frozenset[State] = frozenset()
    reason: str = ""

    @property
    def accepted(self) -> bool:
        return bool(self.next)


DRIVEN = frozenset({State.ACTIVE, State.HOMING})

_AWAY, _LIMP, _UNKNOWN, _HOMING = State.AWAY, State.LIMP, State.POSITION_UNKNOWN, State.HOMING
_READY, _ACTIVE, _STOPPED, _FAULT = State.READY, State.ACTIVE, State.STOPPED, State.FAULT

_NO_DEVICE = "the device is away: {fault}"
_NOT_ACTIVE = "the node is not active: activate it first"
_LATCHED = "the {actuators} are stopped: clear the stop first"
_LOST = "the position is unknown: home the {actuators} first"
_DRIVEN = "the {actuators} are enabled: relax them first"
_BUSY = "the {actuators} are homing: wait until they hold, or relax them"


def _to(*states: State) -> Answer:
    return Answer(next=frozenset(states))


def _no(reason: str) -> Answer:
    return Answer(reason=reason)


_STAY = {state: _to(state) for state in State}
_MAY_NOT_MOVE = {_AWAY: _no(_NO_DEVICE), _LIMP: _no(_NOT_ACTIVE), _STOPPED: _no(_LATCHED)}

_ROWS: dict[Command, dict[State, Answer]] = {
    Command.CONNECT: {**_STAY, _AWAY: _to(_LIMP)},
    Command.DISCONNECT: {**dict.fromkeys(State, _to(_AWAY)), _STOPPED: _to(_STOPPED)},
    Command.ACTIVATE: {**_STAY, _AWAY: _no(_NO_DEVICE), _LIMP: _to(_UNKNOWN, _READY, _FAULT)},
    Command.DEACTIVATE: {**dict.fromkeys(State, _to(_LIMP)), _AWAY: _to(_AWAY), _STOPPED: _to(_STOPPED)},
    Command.MOVE: {
        **_MAY_NOT_MOVE,
        _UNKNOWN: _no(_LOST),
        _HOMING: _no(_BUSY),
        _READY: _no("the {actuators} are relaxed: enable them first"),
        _ACTIVE: _to(_ACTIVE),
        _FAULT: _no("the {actuators} are relaxed after a fault: enable them first"),
    },
    Command.ENABLE: {
        **_MAY_NOT_MOVE,
        _UNKNOWN: _no(_LOST),
        _HOMING: _no(_BUSY),
        _READY: _to(_ACTIVE),
        _ACTIVE: _to(_ACTIVE),
        _FAULT: _to(_ACTIVE),
    },
    Command.RELAX: {
        **_STAY,
        _AWAY: _no(_NO_DEVICE),
        _HOMING: _to(_UNKNOWN),
        _ACTIVE: _to(_READY),
        _FAULT: _to(_FAULT, _READY, _UNKNOWN),
    },
    Command.STOP: dict.fromkeys(State, _to(_STOPPED)),
    Command.CLEAR_STOP: {**_STAY, _STOPPED: _to(_AWAY, _LIMP, _UNKNOWN, _READY, _FAULT)},
    Command.HOME: {
        **_STAY,
        _AWAY: _no(_NO_DEVICE),
        _UNKNOWN: _to(_READY),
        _HOMING: _no(_BUSY),
        _ACTIVE: _no(_DRIVEN),
        _STOPPED: _no(_LATCHED),
    },
    Command.TAKE_UP_SLACK: {
        **_MAY_NOT_MOVE,
        _UNKNOWN: _to(_HOMING),
        _HOMING: _no(_BUSY),
        _READY: _to(_HOMING),
        _ACTIVE: _no(_DRIVEN),
        _FAULT: _to(_HOMING),
    },
    Command.ASSUME_TAUT_HERE: {
        _AWAY: _no(_NO_DEVICE),
        _LIMP: _to(_LIMP),
        _UNKNOWN: _to(_READY),
        _HOMING: _no(_BUSY),
        _READY: _no("the position is known: `home` makes it zero anew"),
        _ACTIVE: _no(_DRIVEN),
        _STOPPED: _no(_LATCHED),
        _FAULT: _to(_FAULT),
    },
}

TABLE: dict[tuple[State, Command], Answer] = {
    (state, command): row[state] for command, row in _ROWS.items() for state in State
}

_CONNECTED = frozenset(State) - {_AWAY, _STOPPED}

EVENTS: dict[tuple[State, Event], Answer] = {
    **{(state, Event.DEVICE_LOST): _to(_AWAY) for state in _CONNECTED},
    (_AWAY, Event.DEVICE_FOUND): _to(_LIMP, _UNKNOWN, _READY),
    **{(state, Event.POSITION_LOST): _to(_UNKNOWN) for state in (_HOMING, _READY, _ACTIVE)},
    **{(state, Event.FAULT_FOUND): _to(_FAULT) for state in (_UNKNOWN, _HOMING, _READY, _ACTIVE)},
    (_ACTIVE, Event.NO_COMMANDS): _to(_READY),
    (_HOMING, Event.HOMED): _to(_ACTIVE),
}


def require(state: State, command: Command, actuators: str, fault: str = "") -> None:
    """See that a command is not refused by the table.

    Args:
        state: now.
        command: that is asked for.
        actuators: word for them in messages ("motors").
        fault: why the device is away.

    Raises:
        DeviceError: it is refused, with the reason.
    """
    answer = TABLE[state, command]
    if not answer.accepted:
        raise DeviceError(answer.reason.format(actuators=actuators, fault=fault))
