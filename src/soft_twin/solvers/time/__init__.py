"""Motion in time."""
