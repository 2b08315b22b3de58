"""The run sequences by their kinds, and from their text."""

import json

from soft_twin_ros.running.arm_bends import ArmBends
from soft_twin_ros.running.base_turns import BaseTurns
from soft_twin_ros.running.plate_turns import PlateTurns
from soft_twin_ros.running.sequence import RunSequence
from soft_twin_ros.running.stands import Stands
from soft_twin_ros.running.takes_shape import TakesShape

SEQUENCES: dict[str, type[RunSequence]] = {
    kind.KIND: kind for kind in (ArmBends, BaseTurns, PlateTurns, Stands, TakesShape)
}


def from_text(text: str) -> RunSequence:
    """The sequence that `RunSequence.to_text` has written."""
    fields = json.loads(text)
    return SEQUENCES[fields.pop("kind")](**fields)
