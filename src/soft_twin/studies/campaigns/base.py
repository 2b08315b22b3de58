"""What every fault campaign is, and the running of many of its cases."""

import contextlib
import signal
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from soft_twin.parallel import Say, Workers, compute_each, time_left

HANG = "hang"
BROKEN = "campaign broken"


@dataclass(frozen=True)
class Violation:
    """One rule that was broken in a case.

    Attributes:
        kind: the rule's stable name; a campaign lists its kinds in its module's docstring.
        time: when, in the case's own time [s].
        detail: what was seen, with values and units.
    """

    kind: str
    time: float
    detail: str


class Campaign(ABC):
    """Cases invented from a seed, and a judge.

    Attributes:
        name: of the campaign, and of its module.
        patience: wall time that one case may take before it counts as a hang [s].
        share: of the cases that are asked for, for a campaign whose cases take real time.
    """

    name: str
    share: float = 1.0
    patience: float = 60.0

    @abstractmethod
    def run_case(self, seed: int) -> list[Violation]:
        """Live through the case of a seed; what was violated. The same seed is the same case."""

    def story(self, seed: int) -> str:
        """What happens in the case of a seed, for the person who looks into it; may be empty."""
        return ""


@dataclass
class Result:
    """What a number of cases came to.

    Attributes:
        name: of the campaign.
        cases: how many were run.
        failed: violations of each seed that had any.
        seconds: wall time.
    """

    name: str
    cases: int = 0
    failed: dict[int, list[Violation]] = field(default_factory=dict)
    seconds: float = 0.0

    def add(self, seed: int, violations: list[Violation]) -> None:
        self.cases += 1
        if violations:
            self.failed[seed] = violations

    def kinds(self) -> Counter[str]:
        """In how many cases each kind of violation was seen."""
        return Counter(kind for found in self.failed.values() for kind in {one.kind for one in found})

    def seeds(self, kind: str) -> list[int]:
        """The seeds in which a kind of violation was seen."""
        return sorted(seed for seed, found in self.failed.items() if any(one.kind == kind for one in found))


def run_campaign(
    campaign: Campaign,
    seeds: range,
    workers: Workers = Workers(),  # noqa: B008  (frozen)
    say: Say | None = None,
) -> Result:
    """Run the cases of some seeds; an interruption (Ctrl-C) ends it with what is done.

    Args:
        campaign: what to run; with more than one worker it is copied to each.
        seeds: of the cases.
        workers: who runs them.
        say: is called with a line of progress after each case that took part.
    """
    result, start = Result(campaign.name), time.monotonic()
    outcomes = compute_each(partial(run_guarded, campaign), seeds, workers)
    with contextlib.suppress(KeyboardInterrupt), contextlib.closing(outcomes):
        for index, violations in outcomes:
            result.add(seeds[index], violations)
            result.seconds = time.monotonic() - start
            if say is not None:
                say(_progress(result, len(seeds)))
    return result


def run_guarded(campaign: Campaign, seed: int) -> list[Violation]:
    """One case; that it takes for ever, or that the campaign itself fails, is a violation too."""
    try:
        with _time_limit(campaign.patience):
            return campaign.run_case(seed)
    except _TooLong:
        return [Violation(HANG, float("nan"), f"not done after {campaign.patience:g} s of wall time")]
    except Exception:
        return [Violation(BROKEN, float("nan"), traceback.format_exc())]


def reproduction(name: str, seed: int) -> str:
    """The command that runs one case again."""
    return f"soft-twin bench fault_campaign --campaign {name} --case {seed}"


def _progress(result: Result, total: int) -> str:
    left = time_left(result.seconds / result.cases * (total - result.cases))
    return f"{result.name}: {result.cases} of {total} cases, {len(result.failed)} with violations, {left}"


class _TooLong(BaseException):
    """A case has used up its wall time; nothing that a case calls is meant to catch it."""


@contextlib.contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise _TooLong in this block after so much wall time, where there are signals to do it by."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGALRM, _end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _end(*_: object) -> None:
    raise _TooLong
