"""What a body is: materials, loads, actuators, constraints and contact, joined in one model."""
