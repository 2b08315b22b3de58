"""Physical twins for control: bodies that sense gravity and answer with shapes and sensitivities."""
