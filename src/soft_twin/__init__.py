"""soft_twin: real -> sim -> real for soft robots. This library runs without ROS."""

from soft_twin.robots import load_robot

__all__ = ["load_robot"]
__version__ = "0.1.0"
