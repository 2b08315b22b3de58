"""A spring neck at 70 poses, 0 and 1000 g, encoders in, inclination out: poses by other poses, a payload by the other.

The twin is that of `validate neck`, finite elements with one set of parameters, fitted on every sixth pose. What is
left, the measured inclination less the twin's, is a function of where the twin bends to and of the payload: regression
with a linear and a Gaussian kernel (`kernel_regression`), whose constants are chosen inside what is learned from.
"""

from pathlib import Path

import numpy as np

from soft_twin.learning.kernel_regression import choose, predict
from soft_twin.parallel import Say
from soft_twin.studies import neck_logs
from soft_twin.studies.learning.real.tested import Tested

BLOCKS = 7  # of poses, each left out once: neighbours, or every seventh


def tested(data: Path, say: Say | None = None) -> list[Tested]:
    """Blocks of poses by the others, and each payload by the other.

    Raises:
        UsageError: the logs are not there.
    """
    logs = [log for log in neck_logs.read_logs(data) if log.series == "long"]
    by_twin = neck_logs.by_finite_elements(neck_logs.FITTED, logs)
    measured, payloads = (np.array([getattr(log, name) for log in logs]) for name in ("inclination", "payload"))
    features, left = _features(logs, by_twin, payloads), measured - by_twin
    poses = np.tile(np.arange(neck_logs.POSES), len(np.unique(payloads)))
    between, sectors = poses % BLOCKS, poses * BLOCKS // neck_logs.POSES
    rows = []
    for blocks, words in ((between, "every seventh pose"), (sectors, "a sector of 100°")):
        after = np.empty(len(logs))
        for block in range(BLOCKS):
            unseen = blocks == block
            after[unseen] = left[unseen] - _predicted(features, left, ~unseen, blocks)[unseen]
        rows.append(_row("the other poses", words, left, after))
    for payload in np.unique(payloads):
        unseen = payloads == payload
        found = left[unseen] - _predicted(features[:, :-1], left, ~unseen, between)[unseen]
        other = payloads[~unseen][0]
        rows.append(_row(f"{1e3 * other:.0f} g", f"{1e3 * payload:.0f} g", left[unseen], found))
    return rows


def _features(logs, by_twin: np.ndarray, payloads: np.ndarray) -> np.ndarray:
    """(l, 4) where the twin bends to, by how much, and the payload."""
    azimuth = np.radians([log.asked[1] for log in logs])
    return np.column_stack([by_twin * np.cos(azimuth), by_twin * np.sin(azimuth), by_twin, payloads])


def _predicted(features: np.ndarray, left: np.ndarray, known: np.ndarray, blocks: np.ndarray) -> np.ndarray:
    """(l,) what is left, everywhere, by what is known (l,)."""
    folds = [np.flatnonzero(known & (blocks == block)) for block in np.unique(blocks[known])]
    choice = choose({"": features}, left[:, None], folds)
    own = np.flatnonzero(known)
    return predict(features[own], left[own, None], features, choice.constants)[:, 0]


def _row(learned_from: str, tested_on: str, before: np.ndarray, after: np.ndarray) -> Tested:
    before, after = np.abs(before), np.abs(after)
    errors = before.mean(), after.mean(), before.max(), after.max()
    return Tested("spring neck, encoders", learned_from, tested_on, "°", *map(float, errors))
