"""A serial port whose every failure is a DeviceError that says what to do."""

import serial

from soft_twin.errors import DeviceError
from soft_twin.one_driver import in_use, is_taken
from soft_twin.serial_devices import require_serial_device
from soft_twin.serial_output import write_bytes


class SerialPort:
    """Bytes to and from a serial device, without blocking for reading.

    Args:
        device: path, such as /dev/ttyUSB0.
        baud_rate: [bit/s].
        patience: a device that takes no bytes for so long is gone [s].

    Raises:
        DeviceError: there is no such device, no permission to use it, or another driver has it.
    """

    def __init__(self, device: str, baud_rate: int, patience: float = 0.1):
        require_serial_device(device)
        self._device, self._patience = device, patience
        try:
            self._port = serial.Serial(device, baud_rate, timeout=0.0, exclusive=True)
        except (serial.SerialException, OSError, ValueError) as error:
            if is_taken(error):
                raise in_use(device) from error
            raise DeviceError(f"'{device}' cannot be opened: {error}") from error

    def read(self) -> bytes:
        """What has come in.

        Raises:
            DeviceError: the device is gone.
        """
        try:
            return self._port.read(65536)
        except (serial.SerialException, OSError) as error:
            raise DeviceError(f"'{self._device}' is gone: {error}") from error

    def write(self, data: bytes) -> None:
        """Send bytes.

        Raises:
            DeviceError: the device is gone or takes no bytes.
        """
        try:
            write_bytes(self._port.fileno(), data, self._patience)
        except (serial.SerialException, OSError) as error:
            raise DeviceError(f"'{self._device}' takes no bytes: {error}") from error

    def close(self) -> None:
        self._port.close()
