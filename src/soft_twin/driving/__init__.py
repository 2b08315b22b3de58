"""Actuation to bytes: winches, CAN motors and valves, with the limits that they keep whoever asks."""
