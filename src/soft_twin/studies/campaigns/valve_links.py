"""The drivers' own backends on the line of a world: the only place that knows how they are opened."""

from soft_twin.driving.valves.dac_board import DacValves
from soft_twin.driving.valves.modbus_vacuum import ModbusVacuumValves
from soft_twin.driving.valves.modbus_valves import ModbusValves
from soft_twin.driving.valves.openpneu import OpenPneuValves
from soft_twin.driving.valves.valves import Valves
from soft_twin.studies.campaigns.valve_cases import Case
from soft_twin.studies.campaigns.valve_world import Port, World


def open_backend(case: Case, world: World) -> Valves:
    """What `open_valves` gives, on the world's line.

    Raises:
        DeviceError: the device is not there.
    """

    def reopen() -> Port:
        return Port(world)

    if world.network:
        terminal = ModbusVacuumValves if case.backend == "modbus_vacuum" else ModbusValves
        return terminal(reopen(), case.count, "emulated", world, reopen)
    kind = OpenPneuValves if case.backend == "openpneu" else DacValves
    return kind(reopen(), case.count, world, reopen)
