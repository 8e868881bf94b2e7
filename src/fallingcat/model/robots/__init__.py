"""Sample robots, one file each: what the examples, the studies and the tests are about."""

from .cat import cat, two_cylinder_cat
from .free_body import free_body
from .humanoid import humanoid
from .orbital_arm import orbital_arm
from .planar_arm import planar_arm
from .prismatic_hopper import prismatic_hopper
from .quadruped import quadruped
from .random_tree import random_tree
from .revolute_hopper import revolute_hopper
from .scara import scara
from .wrist import wrist

__all__ = [
    "cat",
    "free_body",
    "humanoid",
    "orbital_arm",
    "planar_arm",
    "prismatic_hopper",
    "quadruped",
    "random_tree",
    "revolute_hopper",
    "scara",
    "two_cylinder_cat",
    "wrist",
]
