"""How the actions of homing end: as the session's state says."""

from types import SimpleNamespace

import pytest

from soft_twin.driving.session import Status
from soft_twin.driving.states import State
from soft_twin_ros.homing_actions import HomingActions


@pytest.mark.parametrize(
    ("name", "state", "faults", "ending"),
    [
        ("take_up_slack", State.HOMING, (), None),
        ("take_up_slack", State.ACTIVE, (), (True, "the zero is found: in words")),
        ("take_up_slack", State.READY, (), (True, "the zero is found: in words")),
        ("take_up_slack", State.STOPPED, (), (False, "in words")),
        ("take_up_slack", State.FAULT, ("motor 3 is silent",), (False, "in words; motor 3 is silent")),
        ("cables/take_up_slack", State.POSITION_UNKNOWN, (), (False, "in words")),
        ("home", State.LIMP, (), (True, "the zero is found: in words")),
    ],
)
def test_an_action_ends_as_the_motors_state_says(name, state, faults, ending):
    called = []
    session = SimpleNamespace(
        home=lambda: called.append("home"),
        take_up_slack=lambda: called.append("take_up_slack"),
        status=lambda: Status(0.0, state, "in words", faults),
    )
    actions = object.__new__(HomingActions)  # without a node: nobody is told
    actions._session, actions._names, actions._moves = session, [], False
    actions.begin(name, None)
    assert called == [name.rpartition("/")[2]]
    assert actions.ending() == ending
