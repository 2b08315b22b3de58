"""A board of 0…10 V converters with VEAB valves that is not there (docs/dac_protocol.md)."""

import numpy as np

from soft_twin.driving.valves.dac_board import (
    COMMAND,
    RANGE,
    TELEMETRY,
    FrameDecoder,
    encode_frame,
    pressures_of,
    volts_of,
)
from soft_twin.emulation.chambers import ChamberParameters, Chambers
from soft_twin.emulation.line_faults import LineFaults
from soft_twin.emulation.ports import PseudoTerminal

TELEMETRY_PERIOD = 0.02  # [s]
TIMEOUT = 0.5  # [s] without a command, and all channels go to 0 V


class EmulatedDacBoard:
    """Valves on a pseudo-terminal.

    Attributes:
        port: what the driver opens.
        line: between device and port, for faults on purpose.
        chambers: what the valves fill.
        channels_each: how many valves a chamber has.
    """

    channels_each = 1

    def __init__(
        self,
        count: int = 40,
        seed: int = 0,
        port: PseudoTerminal | None = None,
        parameters: ChamberParameters | None = None,
    ):
        self.port = port or PseudoTerminal()
        self.line = LineFaults(self.port, seed)
        self.chambers = Chambers(count, parameters, seed)
        self.chambers.targets[:] = RANGE[0]
        self._decoder = FrameDecoder(COMMAND)
        self._since_command = self._since_telemetry = 0.0

    @property
    def address(self) -> str:
        """What a driver opens."""
        return self.port.path

    def step(self, dt: float) -> None:
        """Take the commands that came, let `dt` seconds pass, stream."""
        self._since_command += dt
        self._obey()
        if self._since_command > TIMEOUT:
            self.chambers.targets = np.full(len(self.chambers.targets), RANGE[0])
        self.chambers.step(dt)
        self._stream(dt)

    def stand_still(self, dt: float) -> None:
        """Take the commands that came and stream as in `dt` seconds; the pressures stay."""
        self._obey()
        self._stream(dt)

    def close(self) -> None:
        """Unplug it."""
        self.port.close()

    def _obey(self) -> None:
        for volts in self._decoder.feed(self.line.read()):
            count = min(len(volts), len(self.chambers.targets))
            self.chambers.targets[:count] = pressures_of(volts[:count])
            self._since_command = 0.0

    def _stream(self, dt: float) -> None:
        self._since_telemetry += dt
        if self._since_telemetry >= TELEMETRY_PERIOD - 1e-9:
            self._since_telemetry = 0.0
            self.line.write(encode_frame(TELEMETRY, volts_of(self.chambers.measured())))
