"""Physical twins: bodies that sense gravity and answer with shapes and sensitivities."""
