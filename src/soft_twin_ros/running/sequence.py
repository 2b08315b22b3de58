"""How a run of a robot goes, step by step, whatever leads the nodes through it."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from soft_twin_ros.running.health import Drivers

START_PATIENCE = 180.0  # [s] for compiling and loading, when it is done for the first time and on a busy machine
ANSWER_PATIENCE = 30.0  # [s] for a service and what it leads to, on a busy machine


class Leader(Protocol):
    """What leads the nodes: a node beside them, see `runner`; or whatever a test puts there.

    Attributes:
        tip, twin_tip: (3,) the emulated robot's and the twin's newest tip in base_link [m], NaN before the first.
        tip_axis: (3,) where the emulated robot's tip points, in base_link.
    """

    tip: np.ndarray
    twin_tip: np.ndarray
    tip_axis: np.ndarray

    def enter(self, phase: str) -> None:
        """A phase begins: it is published and told."""

    def wait_until_ready(self, patience: float) -> None:
        """Wait until all nodes are ready, at most so long [s]."""

    def require(self, drivers: Drivers) -> None:
        """From now on, the run ends when the drivers are not like that."""

    def has(self, node: str) -> bool:
        """Whether the run has a node of that name."""

    def trigger(self, service: str, node: str, patience: float = 0.0) -> None:
        """Call a service without a question of a node, and see that it is done; one that is refused is called again,
        at most for so long [s]."""

    def aim(self, pitch: float, roll: float, node: str) -> None:
        """Ask a node to hold a plate at this pitch and roll [°]."""

    def hang(self, payload: float, node: str) -> None:
        """Put a payload [kg] on the plate of a node's emulated robot, in place of the one that is there."""

    def switch(self, service: str, node: str, on: bool) -> None:
        """Call a service that is on or off."""

    def pass_time(self, duration: float) -> None:
        """Let so much time pass [s]."""

    def settle(self, patience: float) -> None:
        """Wait until the emulated robot's pressures stand, at most so long [s]."""

    def show(self, points: np.ndarray, node: str, patience: float) -> None:
        """Show a node a surface to take, points (k, 3) in base_link [m], until it has one, at most so long [s]."""

    def press(self, chambers: Sequence[str], pressures: Sequence[float], duration: float) -> None:
        """Ask for pressures [Pa] of chambers, for so long [s]."""

    def play(self, phase: str, motion: "Motion") -> None:
        """Let the emulated robot move, in that phase of the run, and tell its error when a hold ends."""


@dataclass(frozen=True)
class Motion:
    """What the emulated robot does in one phase of a run.

    Attributes:
        duration: of the robot's time [s].
        holds: what its diagnostics call the parts at whose ends its error is told, and what people do.
        error: that is told: a distance [m], or an angle [rad].
        words: what that is.
        scale, unit: of it, as it is told.
    """

    duration: float
    holds: Mapping[str, str]
    error: Callable[[], float]
    words: str
    scale: float = 1e3
    unit: str = "mm"


@dataclass(frozen=True)
class RunSequence(ABC):
    """The steps of a run; all that it is, is its fields, which go from one process to another as text.

    Attributes:
        KIND: its name among SEQUENCES.
        emulation: parameters of the node that stands in for the robot.
    """

    KIND: ClassVar[str]
    emulation: Mapping[str, Any]

    @property
    def driven_by(self) -> str:
        """The node that says what the actuators shall do; "": nobody does, or it does not matter which."""
        return ""

    @property
    def parameters(self) -> Mapping[str, Mapping[str, Any]]:
        """Of nodes by name, over those that they have anyway."""
        return {}

    @abstractmethod
    def run(self, leader: Leader) -> None:
        """All of it, from the moment when the nodes have been started.

        Raises:
            RunError: a node ended, stayed in error, or refused something.
        """

    def to_text(self) -> str:
        """The sequence as text, see `soft_twin_ros.running.sequences`."""
        return json.dumps({"kind": self.KIND} | asdict(self))
