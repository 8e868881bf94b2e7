"""Array types of public signatures.

The first group may hold floats, complex, traced, CasADi, SymPy or JAX numbers, so each is ``Any`` to a type checker;
docstrings give the shapes - ``(nv)``, ``6 x nv`` - and wrong shapes raise an error.  The second group is NumPy only:
results of simulations, solvers and files; mypy checks it.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Scalar: TypeAlias = Any
"""One number."""
Vector: TypeAlias = Any
"""One-dimensional array; as an argument, a list of numbers too."""
Matrix: TypeAlias = Any
"""Two-dimensional array."""
Tensor: TypeAlias = Any
"""Three-dimensional array, such as a curvature (m x n x n)."""
Rotation: TypeAlias = Any
"""``3 x 3`` rotation matrix."""
Pose: TypeAlias = Any
"""``4 x 4`` homogeneous matrix that maps coordinates of one frame to those of another."""
Twist: TypeAlias = Any
"""``[v; w]``: linear and angular velocity, 6 or the dimension of the group (m/s, rad/s)."""
Wrench: TypeAlias = Any
"""``[f; tau]``: force and moment, 6 or the dimension of the group (N, N m)."""

Numbers: TypeAlias = npt.ArrayLike
"""A number, or nested lists or an array of numbers, such as one for each robot of a batch."""

FloatArray: TypeAlias = npt.NDArray[np.float64]
"""NumPy array of floats; the docstring gives its shape."""
BoolArray: TypeAlias = npt.NDArray[np.bool_]
"""NumPy array of truth values, such as one for each robot of a batch."""
