"""A tensegrity arm's tip, five inclinations in: what its energy says, corrected by rows 0…899, tested on the rest.

The twin is that of `experiment tensegrity_arm`: one pressure for all cylinders, the struts that have IMUs and the
base's place found by the tip, here on the rows that are learned from. The correction is regression of what it leaves,
on the directions of the IMUs' specific forces, with or without the twin's own tip among the inputs; beside it, the same
regression of the tip itself (`learning/real_tips`). Inputs and constants are chosen on pieces of the trained rows.
"""

from pathlib import Path

import numpy as np

import soft_twin
from soft_twin.learning.kernel_regression import choose, predict
from soft_twin.parallel import Say
from soft_twin.studies import tensegrity_arm as arm
from soft_twin.studies.learning.real.tested import Tested
from soft_twin.studies.learning.real_tips import PIECES, TRAINED, arm_inputs

MM = 1e3
DIRECTIONS = "directions of specific force"


def tested(data: Path, say: Say | None = None) -> list[Tested]:
    """The tip by its twin and its correction, and by regression alone.

    Raises:
        RecordingError: the recording is not there.
    """
    recording = arm.read_recording(data / arm.FILE)
    inclinations, tip = arm.measured_inclinations(recording), recording.tip
    robot, own = soft_twin.load_robot("tm40"), slice(TRAINED)
    places = arm.found_places(robot, recording.numbers, inclinations[own], tip[own])
    train = np.arange(len(tip)) < TRAINED
    by_twin = arm.placed(arm.tips_of(robot, places, inclinations), tip, train)[1]
    directions = arm_inputs(recording)[DIRECTIONS]
    candidates = {"directions": directions, "and the twin's tip": np.column_stack([directions, by_twin])}
    alone = _learned({"directions": directions}, tip, train)
    corrected = by_twin + _learned(candidates, tip - by_twin, train)
    unseen = f"rows {TRAINED}…{len(tip) - 1}"
    off = [MM * np.linalg.norm(each[~train] - tip[~train], axis=1) for each in (by_twin, corrected, alone)]
    what, learned = "tensegrity arm, IMUs", f"rows 0…{TRAINED - 1}"
    return [
        Tested(what, learned, unseen, "mm", *_errors(off[0], off[1])),
        Tested(f"{what}, no twin", learned, unseen, "mm", *_errors(off[0], off[2])),
    ]


def _learned(candidates: dict[str, np.ndarray], outputs: np.ndarray, train: np.ndarray) -> np.ndarray:
    """(n, 3) everywhere, by the trained rows."""
    own = np.flatnonzero(train)
    choice = choose(candidates, outputs, np.array_split(own, PIECES))
    inputs = candidates[choice.inputs]
    return predict(inputs[own], outputs[own], inputs, choice.constants)


def _errors(before: np.ndarray, after: np.ndarray) -> tuple[float, ...]:
    return tuple(float(each) for each in (before.mean(), after.mean(), before.max(), after.max()))
