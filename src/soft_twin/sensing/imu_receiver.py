"""Samples on the host's clock out of an IMU board's bytes; no port is opened here."""

from dataclasses import replace

from soft_twin.sensing.board_pace import SEQUENCES, BoardPace
from soft_twin.sensing.clock import BoardClock
from soft_twin.sensing.imu_frames import FrameDecoder, FrameErrors
from soft_twin.sensing.line_quality import LineQuality
from soft_twin.sensing.samples import ImuSample


class ImuReceiver:
    """The host's end of one connection to a board that speaks docs/imu_protocol.md.

    Late and double frames are left out: their time is over.
    """

    def __init__(self) -> None:
        self._decoder = FrameDecoder()
        self._pace = BoardPace()
        self._clock = BoardClock()
        self._line = LineQuality()
        self._sequence = 0

    @property
    def errors(self) -> FrameErrors:
        """Counters of damaged and lost frames."""
        return self._decoder.errors

    @property
    def faults(self) -> tuple[str, ...]:
        """What is wrong with the board's clock, in words."""
        return (self._pace.fault,) if self._pace.fault else ()

    @property
    def line_fault(self) -> str:
        """What is wrong with the line, or was within the last seconds, in words; empty where nothing is."""
        return self._line.fault

    def feed(self, data: bytes, arrival: float) -> list[ImuSample]:
        """The samples completed by bytes that arrived at `arrival` [s], oldest first, on the clock of `arrival`."""
        steady, missing = [], 0
        for sequence, sample in self._decoder.feed(data):
            time = self._pace.advance(sequence, sample.time, arrival)
            if time is None:
                continue
            if self._pace.restarted:
                self._clock.restart()
            else:
                missing += (sequence - self._sequence - 1) % SEQUENCES
            self._sequence = sequence
            self._clock.observe(time, arrival)
            steady.append(replace(sample, time=time))
        self._line.take(len(steady), missing, len(data), arrival)
        return [replace(sample, time=self._clock.to_host(sample.time)) for sample in steady]
