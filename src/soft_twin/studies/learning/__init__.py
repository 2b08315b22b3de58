"""Function-based sim-to-real (Tian et al.) done again: emulated robots, and real ones whose recordings are public."""
