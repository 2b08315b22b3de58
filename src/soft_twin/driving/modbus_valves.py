"""Valve terminals on Modbus TCP (Festo CPX and the like), through pymodbus.

Holding registers 0…n−1 take set points, input registers 0…n−1 give measured values, both uint16 in millibar gauge.
A terminal's own bus watchdog must be set to less than a second: it has to relax the valves when the host is gone.
"""

import numpy as np
from pymodbus.client import ModbusTcpClient
from pymodbus.exceptions import ModbusException

from soft_twin.driving.valves import Valves
from soft_twin.errors import DeviceError

MILLIBAR = 100.0  # [Pa]
RANGE = (0.0, 1e6)  # [Pa]
MAX_REGISTERS = 120
TIMEOUT = 0.2  # [s]
PORT = 502


class ModbusValves(Valves):
    """Valves of a terminal; see the module's docstring."""

    range = RANGE

    def __init__(self, client: ModbusTcpClient, count: int, where: str):
        if not 1 <= count <= MAX_REGISTERS:
            raise DeviceError(f"{count} valves on a Modbus terminal: one message carries {MAX_REGISTERS}")
        self.count = count
        self._client = client
        self._where = where

    def write(self, pressures: np.ndarray) -> None:
        registers = np.rint(np.clip(pressures, *RANGE) / MILLIBAR).astype(int).tolist()
        self._ask(self._client.write_registers, 0, registers)

    def read(self) -> np.ndarray | None:
        answer = self._ask(self._client.read_input_registers, 0, count=self.count)
        return MILLIBAR * np.array(answer.registers, dtype=float)

    def shut_down(self) -> None:
        self.write(np.zeros(self.count))

    def release(self) -> None:
        self._client.close()

    def _ask(self, request, *arguments, **options):
        try:
            answer = request(*arguments, **options)
        except (ModbusException, OSError) as error:
            raise DeviceError(f"the valve terminal at {self._where} does not answer: {error}") from error
        if answer.isError():
            raise DeviceError(f"the valve terminal at {self._where} refuses: {answer}; check its register map")
        return answer


def open_device(device: str, count: int) -> ModbusValves:
    """The terminal at `device`, host or host:port.

    Raises:
        DeviceError: nobody answers there.
    """
    host, _, port = device.partition(":")
    if port and not port.isdigit():
        raise DeviceError(f"Modbus device '{device}': expected host or host:port")
    client = ModbusTcpClient(host, port=int(port or PORT), timeout=TIMEOUT, retries=1)
    if not client.connect():
        raise DeviceError(
            f"no Modbus terminal at '{device}': check its address, and that TCP port {port or PORT} is open"
        )
    return ModbusValves(client, count, device)
