"""Equations of motion.

Today: one rigid body on any group of :mod:`fallingcat.lie`, after [From].

>>> import numpy as np
>>> from fallingcat.dynamics import body_forces, body_inertia
>>> from fallingcat.lie import SE2
>>> M = body_inertia(SE2(), np.diag([2.0, 2.0, 2.0, 0.1, 0.2, 0.3]))
>>> M
array([[2. , 0. , 0. ],
       [0. , 2. , 0. ],
       [0. , 0. , 0.3]])
>>> body_forces(SE2(), M, v=np.array([1.0, 0.0, 3.0]), acceleration=np.zeros(3))  # a turn needs a centripetal force
array([0., 6., 0.])
"""

from .single_body import body_coriolis_matrix, body_forces, body_inertia, coriolis_from_series

__all__ = ["body_coriolis_matrix", "body_forces", "body_inertia", "coriolis_from_series"]
