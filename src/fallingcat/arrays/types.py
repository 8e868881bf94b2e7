"""Array types of public signatures.

Numbers of the first group are floats, complex, traced, CasADi, SymPy or JAX numbers, whose classes have no common base
and, but for NumPy's, no types that mypy can read.  ``NDArray[Any] | Any`` says both: what is done with a result is
checked as for a NumPy array (its attributes, where it is passed on), and any other kind of number may be given.  What
is *given* is not checked, since ``Any`` takes everything, lists too: a protocol of operators in its place gives some
570 errors, all but a few of code that is right (tuples and lists as arguments, functions of NumPy alone).  Shapes are
no types; docstrings give them - ``(nv)``, ``6 x nv`` - and wrong ones raise an error.

The second group is NumPy only: results of simulations, solvers and files.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Scalar: TypeAlias = float | Any
"""One number."""
Vector: TypeAlias = npt.NDArray[Any] | Any
"""One-dimensional array; as an argument, a list of numbers too."""
Matrix: TypeAlias = npt.NDArray[Any] | Any
"""Two-dimensional array."""
Tensor: TypeAlias = npt.NDArray[Any] | Any
"""Three-dimensional array, such as a curvature (m x n x n)."""
Rotation: TypeAlias = npt.NDArray[Any] | Any
"""``3 x 3`` rotation matrix."""
Pose: TypeAlias = npt.NDArray[Any] | Any
"""``4 x 4`` homogeneous matrix that maps coordinates of one frame to those of another."""
Twist: TypeAlias = npt.NDArray[Any] | Any
"""``[v; w]``: linear and angular velocity, 6 or the dimension of the group (m/s, rad/s)."""
Wrench: TypeAlias = npt.NDArray[Any] | Any
"""``[f; tau]``: force and moment, 6 or the dimension of the group (N, N m)."""

Numbers: TypeAlias = npt.ArrayLike
"""A number, or nested lists or an array of numbers, such as one for each robot of a batch."""

FloatArray: TypeAlias = npt.NDArray[np.float64]
"""NumPy array of floats; the docstring gives its shape."""
BoolArray: TypeAlias = npt.NDArray[np.bool_]
"""NumPy array of truth values, such as one for each robot of a batch."""
