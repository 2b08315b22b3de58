"""The real robot without the robot: a plant with its own physics behind the bytes of its devices."""
