"""Array types of public signatures.

Names say shapes: ``Matrix_6_nv`` is a ``6 x nv`` matrix, ``Vector_nv`` has ``nv`` numbers, ``Vectors_nv`` may have
batch axes before them.  The type itself says the shape too, ``Annotated[Matrix, "6 nv"]``: `tests/test_array_shapes.py`
compares it with what functions return.  Letters, as in docstrings:

======  ============================================================
letter  length
======  ============================================================
``nv``  velocities of the robot, ``m + n``: ``[twist; rates]``; of a joint, its rates
``nq``  flat coordinates of the robot, a joint or a group
``m``   dimension of the base's group, 6 for SE(3); in `lie`, of the group
``n``   rates of all joints
``k``   any other
``N``   samples, points or robots
======  ============================================================

Numbers of the first group are floats, complex, traced, CasADi, SymPy or JAX numbers, whose classes have no common base
and, but for NumPy's, no types that mypy can read.  ``NDArray[Any] | Any`` says both: what is done with a result is
checked as for a NumPy array (its attributes, where it is passed on), and any other kind of number may be given.  What
is *given* is not checked, since ``Any`` takes everything, lists too: a protocol of operators in its place gives some
570 errors, all but a few of code that is right (tuples and lists as arguments, functions of NumPy alone).  Type
checkers do not compare shapes; wrong ones raise an error.

The second group, ``Float...``, is NumPy only: results of simulations, solvers and files.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np
import numpy.typing as npt

Scalar: TypeAlias = float | Any
"""One number."""
Vector: TypeAlias = npt.NDArray[Any] | Any
"""One-dimensional array; as an argument, a list of numbers too."""
Matrix: TypeAlias = npt.NDArray[Any] | Any
"""Two-dimensional array."""
Tensor: TypeAlias = npt.NDArray[Any] | Any
"""Three-dimensional array."""
Rotation: TypeAlias = Annotated[Matrix, "3 3"]
"""Rotation matrix."""
Pose: TypeAlias = Annotated[Matrix, "4 4"]
"""Homogeneous matrix that maps coordinates of one frame to those of another."""
Poses: TypeAlias = Annotated[Tensor, "... 4 4"]
"""One pose, or poses with batch axes before them; so of `Rotations`."""
Rotations: TypeAlias = Annotated[Tensor, "... 3 3"]
Twist: TypeAlias = npt.NDArray[Any] | Any
"""``[v; w]``: linear and angular velocity, 6 or the dimension of the group (m/s, rad/s)."""
Wrench: TypeAlias = npt.NDArray[Any] | Any
"""``[f; tau]``: force and moment, 6 or the dimension of the group (N, N m)."""

Vector_2: TypeAlias = Annotated[Vector, "2"]
Vector_3: TypeAlias = Annotated[Vector, "3"]
Vector_4: TypeAlias = Annotated[Vector, "4"]
Vector_6: TypeAlias = Annotated[Vector, "6"]
Vector_m: TypeAlias = Annotated[Vector, "m"]
Vector_n: TypeAlias = Annotated[Vector, "n"]
Vector_nq: TypeAlias = Annotated[Vector, "nq"]
Vector_nv: TypeAlias = Annotated[Vector, "nv"]

Vectors_3: TypeAlias = Annotated[Vector, "... 3"]
Vectors_n: TypeAlias = Annotated[Vector, "... n"]
Vectors_nq: TypeAlias = Annotated[Vector, "... nq"]
Vectors_nv: TypeAlias = Annotated[Vector, "... nv"]

Matrix_2_n: TypeAlias = Annotated[Matrix, "2 n"]
Matrix_3_3: TypeAlias = Annotated[Matrix, "3 3"]
Matrix_3_nv: TypeAlias = Annotated[Matrix, "3 nv"]
Matrix_3_k: TypeAlias = Annotated[Matrix, "3 k"]
Matrix_4_4: TypeAlias = Annotated[Matrix, "4 4"]
Matrix_6_6: TypeAlias = Annotated[Matrix, "6 6"]
Matrix_6_n: TypeAlias = Annotated[Matrix, "6 n"]
Matrix_6_nv: TypeAlias = Annotated[Matrix, "6 nv"]
Matrix_m_m: TypeAlias = Annotated[Matrix, "m m"]
Matrix_m_n: TypeAlias = Annotated[Matrix, "m n"]
Matrix_m_nv: TypeAlias = Annotated[Matrix, "m nv"]
Matrix_n_n: TypeAlias = Annotated[Matrix, "n n"]
Matrix_nv_nv: TypeAlias = Annotated[Matrix, "nv nv"]
Matrix_k_3: TypeAlias = Annotated[Matrix, "k 3"]
Matrix_k_nv: TypeAlias = Annotated[Matrix, "k nv"]
Matrix_N_3: TypeAlias = Annotated[Matrix, "N 3"]
Matrix_N_n: TypeAlias = Annotated[Matrix, "N n"]
Matrix_points_3: TypeAlias = Annotated[Matrix, "points 3"]

Tensor_6_nv_nv: TypeAlias = Annotated[Tensor, "6 nv nv"]
Tensor_m_n_n: TypeAlias = Annotated[Tensor, "m n n"]

Numbers: TypeAlias = npt.ArrayLike
"""A number, or nested lists or an array of numbers, such as one for each robot of a batch."""

FloatArray: TypeAlias = npt.NDArray[np.float64]
"""NumPy array of floats; the docstring gives its shape."""
BoolArray: TypeAlias = npt.NDArray[np.bool_]
"""NumPy array of truth values, such as one for each robot of a batch."""

Float_3: TypeAlias = Annotated[FloatArray, "3"]
Float_3_3: TypeAlias = Annotated[FloatArray, "3 3"]
Float_4_4: TypeAlias = Annotated[FloatArray, "4 4"]
Float_6_6: TypeAlias = Annotated[FloatArray, "6 6"]
Float_6_m: TypeAlias = Annotated[FloatArray, "6 m"]
Float_m: TypeAlias = Annotated[FloatArray, "m"]
Float_m_m: TypeAlias = Annotated[FloatArray, "m m"]
Float_m_m_m: TypeAlias = Annotated[FloatArray, "m m m"]
Float_n: TypeAlias = Annotated[FloatArray, "n"]
Float_n_k: TypeAlias = Annotated[FloatArray, "n k"]
Float_nq: TypeAlias = Annotated[FloatArray, "nq"]
Float_nv: TypeAlias = Annotated[FloatArray, "nv"]
Float_nv_nv: TypeAlias = Annotated[FloatArray, "nv nv"]
Float_N_4_4: TypeAlias = Annotated[FloatArray, "N 4 4"]
Float_N_6: TypeAlias = Annotated[FloatArray, "N 6"]
Float_N_m: TypeAlias = Annotated[FloatArray, "N m"]
Float_N_m_n: TypeAlias = Annotated[FloatArray, "N m n"]
Float_N_n: TypeAlias = Annotated[FloatArray, "N n"]
Float_N_nq: TypeAlias = Annotated[FloatArray, "N nq"]
Float_N_nv: TypeAlias = Annotated[FloatArray, "N nv"]
Float_N_points_3: TypeAlias = Annotated[FloatArray, "N points 3"]

Floats_nq: TypeAlias = Annotated[FloatArray, "... nq"]
Floats_nv: TypeAlias = Annotated[FloatArray, "... nv"]
