"""Samples on the host's clock out of an IMU board's bytes; no port is opened here."""

from dataclasses import replace

from soft_twin.sensing.clock import BoardClock
from soft_twin.sensing.imu_frames import FrameDecoder, FrameErrors
from soft_twin.sensing.samples import ImuSample


class ImuReceiver:
    """The host's end of one connection to a board that speaks docs/imu_protocol.md."""

    def __init__(self) -> None:
        self._decoder = FrameDecoder()
        self._clock = BoardClock()

    @property
    def errors(self) -> FrameErrors:
        """Counters of damaged and lost frames."""
        return self._decoder.errors

    def feed(self, data: bytes, arrival: float) -> list[ImuSample]:
        """The samples completed by bytes that arrived at `arrival` [s], oldest first, on the clock of `arrival`."""
        samples = [sample for _, sample in self._decoder.feed(data)]
        for sample in samples:
            self._clock.observe(sample.time, arrival)
        return [replace(sample, time=self._clock.to_host(sample.time)) for sample in samples]
