"""Samples on the host's clock out of an IMU board's bytes; no port is opened here."""

from dataclasses import replace

from soft_twin.sensing.board_pace import BoardPace
from soft_twin.sensing.clock import BoardClock
from soft_twin.sensing.imu_frames import FrameDecoder, FrameErrors
from soft_twin.sensing.samples import ImuSample


class ImuReceiver:
    """The host's end of one connection to a board that speaks docs/imu_protocol.md.

    Late and double frames are left out: their time is over.
    """

    def __init__(self) -> None:
        self._decoder = FrameDecoder()
        self._pace = BoardPace()
        self._clock = BoardClock()

    @property
    def errors(self) -> FrameErrors:
        """Counters of damaged and lost frames."""
        return self._decoder.errors

    @property
    def faults(self) -> tuple[str, ...]:
        """What is wrong with the board's clock, in words."""
        return (self._pace.fault,) if self._pace.fault else ()

    def feed(self, data: bytes, arrival: float) -> list[ImuSample]:
        """The samples completed by bytes that arrived at `arrival` [s], oldest first, on the clock of `arrival`."""
        steady = []
        for sequence, sample in self._decoder.feed(data):
            time = self._pace.advance(sequence, sample.time, arrival)
            if time is None:
                continue
            if self._pace.restarted:
                self._clock.restart()
            self._clock.observe(time, arrival)
            steady.append(replace(sample, time=time))
        return [replace(sample, time=self._clock.to_host(sample.time)) for sample in steady]
