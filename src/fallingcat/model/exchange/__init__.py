"""States in the order and the conventions of Pinocchio, MuJoCo, Drake and ROS; none of them is imported."""

from .drake import drake
from .exchange import Exchange
from .mujoco import mujoco
from .pinocchio import pinocchio
from .ros import ros

__all__ = ["Exchange", "drake", "mujoco", "pinocchio", "ros"]
