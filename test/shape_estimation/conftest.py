from tm40 import arm, cases, straight, straight_pressures

__all__ = ["arm", "cases", "straight", "straight_pressures"]  # fixtures
