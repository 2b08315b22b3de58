"""The drawing and the table of docs/driving.md say what the table of transitions says, neither more nor less."""

import re
from pathlib import Path

import pytest

from soft_twin.driving.states import EVENTS, TABLE, Command, Event, State

PAGE = (Path(__file__).parents[2] / "docs" / "driving.md").read_text(encoding="utf-8")
SAME = {name.value.replace(" ", "_"): name for name in State}
NOT_DRAWN = {Command.STOP, Command.DEACTIVATE, Command.DISCONNECT, Event.DEVICE_LOST}  # the page says so below it
WORDS = {
    "no command for 1 s": Event.NO_COMMANDS,
    **{event.value: event for event in Event},
    **{command.value: command for command in Command},
}


def _drawn():
    """(before, cause, after) of each arrow."""
    arrows = set()
    for before, after, label in re.findall(r"^    (\w+) --> (\w+): (.*)$", PAGE, re.M):
        causes = [cause for words, cause in WORDS.items() if re.search(rf"(^|, ){words}($|,)", label)]
        assert causes, f"{before} --> {after}: '{label}' names no command and no event"
        arrows |= {(SAME[before], cause, SAME[after]) for cause in causes}
    return arrows


def _coded():
    return {
        (state, cause, after)
        for (state, cause), answer in {**TABLE, **EVENTS}.items()
        for after in answer.next
        if after is not state and cause not in NOT_DRAWN
    }


def test_what_is_drawn_is_what_is_coded():
    assert _drawn() == _coded()


def _rows():
    lines = PAGE[PAGE.index("| | away |") :].split("\n\n")[0].splitlines()
    states = [cell.strip() for cell in lines[0].split("|")[2:-1]]
    for line in lines[2:]:
        command, *cells = (cell.strip(" `") for cell in line.split("|")[1:-1])
        yield from ((Command(command), State(state), cell) for state, cell in zip(states, cells, strict=True))


@pytest.mark.parametrize(("command", "state", "cell"), list(_rows()))
def test_the_table_of_the_page_is_the_one_of_the_code(command, state, cell):
    answer = TABLE[state, command]
    if cell == "–":
        assert not answer.accepted
        return
    assert answer.accepted
    if cell in ("obeyed", "same"):
        assert answer.next == {state}
    elif cell.startswith("what was before"):
        assert len(answer.next) > 1
    else:
        named = {each for each in State if re.search(rf"\b{each.value}\b", cell)}
        assert named == answer.next
