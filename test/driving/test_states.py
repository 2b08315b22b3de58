"""The table of transitions: every command in every state, asked of a real session."""

import re

import numpy as np
import pytest

from soft_twin.driving.states import EVENTS, TABLE, Command, Event, State
from soft_twin.errors import DeviceError

from .wire import Bench

STEP = np.full(6, 0.008)
ZERO_FINDERS = (Command.HOME, Command.TAKE_UP_SLACK, Command.ASSUME_TAUT_HERE)


def _away():
    bench = Bench()
    bench.there = False
    bench.run(0.02)
    return bench


def _unknown():
    bench = Bench()
    bench.run(0.02)
    return bench


def _ready():
    bench = _unknown()
    bench.session.home()
    return bench


def _limp():
    bench = _unknown()
    bench.session.deactivate()
    return bench


def _homing():
    bench = _unknown()
    bench.slack = 1.0
    bench.session.take_up_slack()
    return bench


def _active():
    bench = _ready()
    bench.session.enable()
    return bench


def _stopped():
    bench = _active()
    bench.session.stop()
    return bench


def _fault():
    bench = _active()
    bench.run(0.35, np.zeros(6))
    bench.motors.stalled[1] = True
    bench.run(0.15, STEP)
    bench.motors.stalled[1] = False
    return bench


REACH = {
    State.AWAY: _away,
    State.LIMP: _limp,
    State.POSITION_UNKNOWN: _unknown,
    State.HOMING: _homing,
    State.READY: _ready,
    State.ACTIVE: _active,
    State.STOPPED: _stopped,
    State.FAULT: _fault,
}


def test_the_table_answers_every_command_in_every_state():
    assert set(TABLE) == {(state, command) for state in State for command in Command}
    for answer in TABLE.values():
        assert answer.accepted != bool(answer.reason)


def test_nothing_but_finding_the_zero_leads_from_an_unknown_position_to_motion():
    for (state, command), answer in TABLE.items():
        if state is State.POSITION_UNKNOWN and answer.next & {State.READY, State.HOMING, State.ACTIVE}:
            assert command in ZERO_FINDERS
    assert not any(
        state is State.POSITION_UNKNOWN and State.ACTIVE in answer.next for (state, _), answer in EVENTS.items()
    )


def test_nothing_but_clear_stop_leaves_a_stop():
    for (state, command), answer in TABLE.items():
        if state is State.STOPPED and command is not Command.CLEAR_STOP:
            assert answer.next <= {State.STOPPED}
    assert not any(state is State.STOPPED for state, _ in EVENTS)


@pytest.mark.parametrize("command", Command, ids=lambda command: command.value)
@pytest.mark.parametrize("state", State, ids=lambda state: state.value)
def test_the_session_answers_as_the_table_says(state, command):
    bench = REACH[state]()
    session, answer = bench.session, TABLE[state, command]
    assert session.state is state
    before, bench.there = session.status(), True
    arguments = (STEP,) if command is Command.MOVE else ()
    if answer.accepted:
        getattr(session, command.value)(*arguments)
        assert session.state in answer.next
        return
    words = re.escape(answer.reason).replace(r"\{actuators\}", "motors|actuators").replace(r"\{fault\}", ".*")
    with pytest.raises(DeviceError, match=words.replace("motors|actuators", "(motors|actuators)")):
        getattr(session, command.value)(*arguments)
    after = session.status()
    assert (after.state, after.faults, after.stopped) == (before.state, before.faults, before.stopped)


def _lose_device(bench):
    bench.unplug()
    bench.run(0.4)


def _find_device(bench):
    bench.plug()
    bench.run(0.6)


def _lose_position(bench):
    bench.motors.jump(2, 3000)
    bench.run(0.05)


def _silence_a_motor(bench):
    bench.motors.silent[1] = True
    bench.run(0.3)


HAPPEN = {
    Event.DEVICE_LOST: _lose_device,
    Event.DEVICE_FOUND: _find_device,
    Event.POSITION_LOST: _lose_position,
    Event.FAULT_FOUND: _silence_a_motor,
    Event.NO_COMMANDS: lambda bench: bench.run(1.1),
}


@pytest.mark.parametrize(("state", "event"), sorted((pair for pair in EVENTS if pair[1] in HAPPEN), key=str), ids=str)
def test_events_lead_where_the_table_says(state, event):
    bench = REACH[state]()
    if event is Event.POSITION_LOST:
        bench.run(0.1, np.zeros(6))
    HAPPEN[event](bench)
    assert bench.session.state in EVENTS[state, event].next
    assert bench.session.status().faults or event is Event.DEVICE_FOUND


def test_the_end_of_homing_holds():
    bench = _unknown()
    bench.session.take_up_slack()
    bench.run(1.6)
    assert bench.session.state in EVENTS[State.HOMING, Event.HOMED].next
    assert bench.session.status().mode == "hold"
