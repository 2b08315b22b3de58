"""Chambers: their valves behind serial lines and Modbus, and what watches the pressures."""
