"""The serial IMU board, from the host's side."""

from dataclasses import replace

import serial

from soft_twin.errors import DeviceError
from soft_twin.one_driver import in_use, is_taken
from soft_twin.sensing.clock import TimeOfDay
from soft_twin.sensing.imu_frames import FrameErrors, encode_heater
from soft_twin.sensing.imu_receiver import ImuReceiver
from soft_twin.sensing.samples import ImuSample
from soft_twin.serial_devices import require_serial_device
from soft_twin.serial_output import write_bytes
from soft_twin.steady_time import steady_now

_BAUD_RATE = 460_800
_WRITE_PATIENCE = 0.02  # [s]


class ImuBoard:
    """An IMU that speaks docs/imu_protocol.md on a serial device.

    Raises:
        DeviceError: at opening, the device is missing, busy or not permitted; later, it is gone.
    """

    def __init__(self, device: str):
        self._device = device
        self._receiver = ImuReceiver()
        self._time_of_day = TimeOfDay()
        require_serial_device(device, "IMU board")
        try:
            self._port = serial.Serial(device, _BAUD_RATE, timeout=0, exclusive=True)
            self._port.reset_input_buffer()
        except (OSError, ValueError) as error:
            if is_taken(error):
                raise in_use(device) from error
            raise DeviceError(f"IMU at '{device}' cannot be opened: {error}") from error

    @property
    def errors(self) -> FrameErrors:
        """Counters of damaged and lost frames."""
        return self._receiver.errors

    @property
    def faults(self) -> tuple[str, ...]:
        """What is wrong with the board's clock, in words."""
        return self._receiver.faults

    @property
    def line_fault(self) -> str:
        """What is wrong with the line, in words; empty where nothing is."""
        return self._receiver.line_fault

    def read(self, timeout: float) -> list[ImuSample]:
        """The samples that have arrived, oldest first, on the host's clock (`time.time()`).

        Setting that clock moves the samples after it, and does not change the times between them else.

        Args:
            timeout: how long to wait for the first one [s]; an empty list when there is none by then.

        Raises:
            DeviceError: the device is gone.
        """
        deadline = steady_now() + timeout
        while True:
            data = self._receive(deadline - steady_now())
            samples = self._receiver.feed(data, steady_now())
            if samples or steady_now() >= deadline:
                ahead = self._time_of_day.ahead()
                return [replace(sample, time=sample.time + ahead) for sample in samples]

    def set_heater(self, duty: float) -> None:
        """Command the heater's duty, 0…1.

        Raises:
            InputError: the duty is outside 0…1.
            DeviceError: the device is gone or takes no bytes.
        """
        frame = encode_heater(duty)
        try:
            write_bytes(self._port.fileno(), frame, _WRITE_PATIENCE)
        except TimeoutError as error:
            raise DeviceError(f"IMU at '{self._device}' takes no bytes: {error}") from error
        except OSError as error:
            raise DeviceError(f"IMU at '{self._device}' is gone: {error}") from error

    def close(self) -> None:
        self._port.close()

    def _receive(self, timeout: float) -> bytes:
        try:
            self._port.timeout = max(timeout, 0.0)
            first = self._port.read(1)
            return first + self._port.read(self._port.in_waiting) if first else b""
        except OSError as error:
            raise DeviceError(f"IMU at '{self._device}' is gone: {error}") from error
