"""Cables: winches, the CAN motors that turn them, and what watches both."""
