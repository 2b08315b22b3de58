"""What the nodes of a run say of their health, and whether the run can go on: keys and values, no words for people."""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum

WAITING = "waiting"  # the state of a node that has nothing to work on yet
READY = "ready"  # of one that works
FAILED = "failed"  # of one that does not do what it is there for
DRIVERS = ("cables_to_motors", "pressures_to_valves")
AWAY, ACTIVE, RELAXED = "away", "active", "ready"  # states of a driver, see soft_twin.driving.states


class Drivers(Enum):
    """What is asked of the drivers of actuators at a moment of a run."""

    THERE = "their devices are there"
    WELL = "they have no fault"
    ACTIVE = "they drive"


@dataclass(frozen=True)
class Told:
    """What a node says of itself.

    Attributes:
        failed: at the level of an error.
        message: one line for people.
        values: by key; `state` says whether it waits, works, or has failed.
    """

    failed: bool
    message: str
    values: Mapping[str, str] = field(default_factory=dict)

    @property
    def state(self) -> str:
        return self.values.get("state", "")


class NodesHealth:
    """The newest that each node of a run has said, and for how long something has been wrong.

    Attributes:
        drivers: what is asked of them now.
        relaxed: drivers that should drive and have said that they do not, though nothing is wrong with their devices:
            commands stayed away. Who enables one again takes it out.
    """

    def __init__(self, names: Collection[str], clock: Callable[[], float] = time.monotonic):
        """`names`: of the nodes that must be well. `clock`: seconds."""
        self.drivers = Drivers.THERE
        self.relaxed: set[str] = set()
        self._clock = clock
        self._told: dict[str, Told | None] = dict.fromkeys(sorted(names))
        self._wrong_since: dict[str, float] = {}

    def take(self, name: str, told: Told) -> None:
        """A node has said something; those that do not belong to the run are nobody's concern."""
        if name not in self._told:
            return
        self._told[name] = told
        self.relaxed.discard(name)
        if name in DRIVERS and self.drivers is Drivers.ACTIVE and told.state == RELAXED and not told.failed:
            self.relaxed.add(name)
        if self._is_wrong(name, told):
            self._wrong_since.setdefault(name, self._clock())
        else:
            self._wrong_since.pop(name, None)

    def unready(self) -> dict[str, str]:
        """What the nodes say that are not ready: those that have not spoken, wait for others, or have failed."""
        return {
            name: "is loading" if told is None else told.message
            for name, told in self._told.items()
            if told is None or told.state == WAITING or self._is_wrong(name, told)
        }

    def wrong_for(self, patience: float) -> dict[str, str]:
        """What the nodes say in which something has been wrong for longer than `patience` [s]."""
        now = self._clock()
        return {name: self._told[name].message for name, since in self._wrong_since.items() if now - since > patience}

    def faults(self) -> dict[str, str]:
        """What drivers say that have a fault now."""
        return {name: told.message for name, told in self._told.items() if name in DRIVERS and told and told.failed}

    def value(self, name: str, key: str) -> str:
        """What a node says under a key; empty where nothing is known."""
        told = self._told.get(name)
        return "" if told is None else told.values.get(key, "")

    def message(self, name: str) -> str:
        """A node's line for people; empty where nothing is known."""
        told = self._told.get(name)
        return "" if told is None else told.message

    def _is_wrong(self, name: str, told: Told) -> bool:
        """Whether the run cannot go on like this."""
        if name not in DRIVERS:
            return told.failed
        if self.drivers is Drivers.THERE:
            return told.state == AWAY
        return told.failed or (self.drivers is Drivers.ACTIVE and told.state != ACTIVE)
