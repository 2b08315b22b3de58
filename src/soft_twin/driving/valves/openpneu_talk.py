"""A conversation with an OpenPneu: what was said, and whether it is known to be done."""

from collections import deque
from collections.abc import Callable, Sequence

from soft_twin.driving.clock import Clock
from soft_twin.driving.valves.openpneu_lines import END, HELLO, NAME, REFUSALS, WELL, WHO, StreamDecoder

SHORTEST, LONGEST = 0.1, 0.7  # [s] in which an answer is waited for

Done = Callable[[bool], None]


class Talk:
    """Lines out and their answers in, one exchange at a time.

    Some lines are answered by nothing unless they are wrong: an exchange ends with one that is. Where an answer is
    missing, spoiled, wrong or not asked for, nobody can tell any more what the device has understood: it is then asked
    for its name, and everything that comes before that is dropped.

    Attributes:
        lost: how often that was needed.
        refused: the lines that the device has refused last; b"" once one of their kind was done.
    """

    def __init__(self, write: Callable[[bytes], None], decoder: StreamDecoder, clock: Clock):
        self.lost = 0
        self.refused = b""
        self._write, self._decoder, self._clock = write, decoder, clock
        self._said = self._last = b""
        self._expected: deque[bytes] = deque()
        self._done: Done = _nothing
        self._names = 0  # that are still to come
        self._asked = 0.0
        self._patience = 2.0 * SHORTEST
        self._unknown = decoder.unknown_lines

    @property
    def idle(self) -> bool:
        """Whether everything is answered."""
        return not (self._expected or self._names)

    def say(self, lines: Sequence[bytes], answers: Sequence[bytes], done: Done) -> None:
        """Send lines that these answers will come to, in order; `done` is told whether they have."""
        self._said = b" ".join(lines)
        self._expected.extend(answers)
        self._done = done
        self._send(b"".join(line + END for line in lines))

    def find(self) -> None:
        """Ask for the device's name, and drop whatever comes before it; an open exchange counts as not done."""
        self._names += 1
        self._send(HELLO + END + WHO + END)  # the first of them also ends what may be left of a broken line
        self._end(False)

    def listen(self) -> None:
        """Take the answers that the decoder has found."""
        answers, self._decoder.answers = self._decoder.answers, []
        for answer in answers:
            self._take(answer)
        spoiled, self._unknown = self._unknown != self._decoder.unknown_lines, self._decoder.unknown_lines
        if not self.idle and self._clock.monotonic() - self._asked > self._patience:
            self._patience = min(2.0 * self._patience, LONGEST)
            self._names = 0
            self._lose()
        elif spoiled and self._expected:
            self._lose()

    def _take(self, answer: bytes) -> None:
        if self._names:
            self._wait_for_names(answer)
        elif self._expected and answer == self._expected[0]:
            self._last = self._expected.popleft()
            if not self._expected:
                self._learn_patience()
                if self._said[:1] == self.refused[:1]:
                    self.refused = b""
                self._end(True)
        elif answer not in (WELL, NAME, self._last):  # else it came twice
            self.refused = self._said if answer in REFUSALS else self.refused
            self._lose()

    def _wait_for_names(self, answer: bytes) -> None:
        """Everything that was said before is answered once as many names have come as were asked for."""
        if answer == NAME:
            self._names -= 1
            self._learn_patience()
        elif answer in REFUSALS:
            self._patience = 0.5 * SHORTEST  # it is there: ask again soon

    def _lose(self) -> None:
        self.lost += 1
        self.find()

    def _end(self, well: bool) -> None:
        done, self._done = self._done, _nothing
        self._expected.clear()
        done(well)

    def _send(self, data: bytes) -> None:
        self._asked = self._clock.monotonic()
        self._write(data)

    def _learn_patience(self) -> None:
        """A line that is slow is given time, one that is quick is asked again soon."""
        taken = self._clock.monotonic() - self._asked
        self._patience = min(max(SHORTEST, 2.0 * taken + SHORTEST), LONGEST)


def _nothing(_: bool) -> None:
    return
