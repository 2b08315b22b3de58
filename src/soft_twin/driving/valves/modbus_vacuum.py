"""Valve terminals on Modbus TCP whose regulators go below ambient pressure, too (bellows that are sucked empty).

As those of `modbus_valves`, but for the registers: int16, so that −1000 mbar is 0xFC18. A terminal of the other kind
says with the highest bit that a sensor is broken, which here would be a vacuum: the two are not guessed.
"""

from functools import partial

import numpy as np

from soft_twin.driving.valves import modbus_valves
from soft_twin.driving.valves.modbus_valves import ModbusValves

RANGE = (-1e5, 1e6)  # [Pa]
SIGN = 0x8000
WHOLE = 0x10000


class ModbusVacuumValves(ModbusValves):
    """Valves of such a terminal."""

    range = RANGE

    def _registers(self, pressures: np.ndarray) -> np.ndarray:
        return super()._registers(pressures) % WHOLE

    def _pressures(self, registers: np.ndarray) -> np.ndarray:
        return super()._pressures((registers + SIGN) % WHOLE - SIGN)


open_device = partial(modbus_valves.open_device, kind=ModbusVacuumValves)
