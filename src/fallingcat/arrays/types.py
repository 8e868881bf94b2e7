"""Names for arrays in signatures: which numbers they hold, and of which kind, is not a matter of type.

Any of them may hold floats, complex, traced, CasADi, SymPy or JAX numbers, so all are ``Any`` to a type checker; what
is said after the name in a docstring - (nv), 6 x nv - is the shape, and wrong shapes are errors of the library.
"""

from __future__ import annotations

from typing import Any

Scalar = Any
"""One number."""
Vector = Any
"""A one-dimensional array; as an argument, a list of numbers too."""
Matrix = Any
"""A two-dimensional array."""
Pose = Any
"""``4 x 4``: a homogeneous matrix that maps coordinates of a frame to those of another."""
Twist = Any
"""``[v; w]``: linear and angular velocity, 6 or as many as the group has dimensions (m/s, rad/s)."""
