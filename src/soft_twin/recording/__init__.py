"""Recordings: MCAP in and out, replay, differences, reports."""
