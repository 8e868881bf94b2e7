"""The Lie groups of rigid motion: SE(3) and every subgroup that a joint or a base can move in.

A group is a small frozen object; its elements are 4x4 homogeneous matrices and its algebra vectors of length ``dim``,
so elements of different groups compose with ``@``.  Twists are ``[v; w]``, linear part first.

>>> import numpy as np
>>> from fallingcat.lie import SE2, SE3
>>> plane = SE2()
>>> g = plane.exp(np.array([1.0, 0.0, np.pi / 2]))
>>> g.round(4)
array([[ 0.    , -1.    ,  0.    ,  0.6366],
       [ 1.    ,  0.    ,  0.    ,  0.6366],
       [ 0.    ,  0.    ,  1.    ,  0.    ],
       [ 0.    ,  0.    ,  0.    ,  1.    ]])
>>> bool(np.allclose(plane.log(g), [1.0, 0.0, np.pi / 2], rtol=0, atol=1e-15))
True
>>> SE3().log(g).round(4)
array([1.    , 0.    , 0.    , 0.    , 0.    , 1.5708])
"""

from . import quaternions
from .algebra import Algebra
from .cylindrical import Cylindrical
from .group import Group
from .helical import Helical
from .product import Product
from .pseudo_planar import PseudoPlanar
from .rotations import skew
from .schoenflies import Schoenflies
from .se2 import SE2
from .se3 import SE3
from .sek3 import SEk3
from .so2 import SO2
from .so3 import SO3
from .translations import R1, R2, R3
from .trivial import Trivial

__all__ = [
    "R1",
    "R2",
    "R3",
    "SE2",
    "SE3",
    "SO2",
    "SO3",
    "Algebra",
    "Cylindrical",
    "Group",
    "Helical",
    "Product",
    "PseudoPlanar",
    "SEk3",
    "Schoenflies",
    "Trivial",
    "quaternions",
    "skew",
]
