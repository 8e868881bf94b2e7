"""Building arrays out of parts, for every kind of number."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any, Final

import numpy as np

from .types import Matrix, Matrix_3_3, Pose, Scalar, Vector_3

_SKEW: Final = np.zeros((3, 3, 3))
_SKEW[[0, 1, 2], [2, 0, 1], [1, 2, 0]] = 1.0
_SKEW[[0, 1, 2], [1, 2, 0], [2, 0, 1]] = -1.0
_SKEW.setflags(write=False)
_NOT_JAX: Final = frozenset({np.ndarray, np.float64, float, int, list, tuple})


def jax_numpy(*xs: Any) -> ModuleType | None:
    """``jax.numpy`` when one of ``xs`` is a JAX array, else None; never imports JAX itself."""
    jax = sys.modules.get("jax")
    if jax is None:
        return None
    for x in xs:  # asking JAX takes ten times as long
        if type(x) not in _NOT_JAX and isinstance(x, jax.Array):
            return jax.numpy
    return None


def is_jax_tracer(x: Any) -> bool:
    """True if JAX traces ``x`` (``grad``, ``jit``, ``vmap``), so that it has no value to look at."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(x, jax.core.Tracer)


def is_numeric(x: Any) -> bool:
    """True if ``x`` holds plain numbers whose values are known now (checked for NaN, compared, printed).

    Args:
        x: Array or scalar of any kind.

    Returns:
        True for floats and complex numbers, False for traced, CasADi, SymPy and JAX numbers.

    Example:
        >>> is_numeric(np.eye(3)), is_numeric(1.5), is_numeric(np.empty(2, dtype=object))
        (True, True, False)
    """
    if isinstance(x, np.ndarray):
        return not x.dtype.hasobject
    return isinstance(x, (int, float, complex, np.number))


def array(entries: Any) -> Any:
    """Array of nested lists of scalars, floats mixed with one other kind of number.

    Args:
        entries: Scalar, or lists of scalars nested to equal depth and length.

    Returns:
        Array of floats, of JAX, or of objects, with the shape of the nesting.

    Example:
        >>> array([[1, 2.5], [0, -1]])
        array([[ 1. ,  2.5],
               [ 0. , -1. ]])
    """
    shape, flat = _unnest(entries)
    jnp = jax_numpy(*flat)
    if jnp is not None:
        return jnp.stack([jnp.asarray(x) for x in flat]).reshape(shape)
    if all(is_numeric(x) for x in flat):
        return _float_or_object_array(flat).reshape(shape)
    objects = np.empty(len(flat), dtype=object)
    for i, x in enumerate(flat):  # one by one: NumPy would look inside an SX
        objects[i] = float(x) if is_numeric(x) else x
    return objects.reshape(shape)


def _float_or_object_array(numbers: list[Any]) -> np.ndarray:
    out = np.array(numbers)
    return out if out.dtype.kind in "fc" else out.astype(float)


def _unnest(entries: Any) -> tuple[tuple[int, ...], list[Any]]:
    """The shape and the scalars of nested lists (or of one scalar)."""
    if not isinstance(entries, (list, tuple)):
        return (), [entries]
    parts = [_unnest(entry) for entry in entries]
    shapes = {shape for shape, _ in parts}
    if len(shapes) > 1:
        raise ValueError(f"rows of different shapes: {sorted(shapes)}")
    inner = shapes.pop() if shapes else ()
    return (len(parts), *inner), [x for _, flat in parts for x in flat]


def concatenate(parts: Sequence[Any], axis: int = 0) -> Any:
    """Arrays joined along an axis.

    Args:
        parts: Arrays; equal shapes but along ``axis``.
        axis: Axis that grows.

    Returns:
        Array of the kind of ``parts``.

    Example:
        >>> concatenate([np.ones(2), np.zeros(1)])
        array([1., 1., 0.])
    """
    return (jax_numpy(*parts) or np).concatenate(parts, axis=axis)


def stack(parts: Sequence[Any], axis: int = 0) -> Any:
    """Arrays joined along a new axis.

    Args:
        parts: Arrays of equal shape.
        axis: Place of the new axis; 0 makes vectors the rows of a matrix, 1 its columns.

    Returns:
        Array with one axis more than ``parts``.

    Example:
        >>> stack([np.ones(2), np.zeros(2)], axis=1)
        array([[1., 0.],
               [1., 0.]])
    """
    return (jax_numpy(*parts) or np).stack(parts, axis=axis)


def block(rows: Sequence[Sequence[Matrix]]) -> Matrix:
    """Matrix with the given rows of blocks.

    Args:
        rows: Rows of matrices (k x n each): equal heights in a row, equal total widths.

    Returns:
        Matrix (rows x columns) of all blocks.

    Example:
        >>> block([[np.eye(2), np.zeros((2, 1))], [np.zeros((1, 2)), np.eye(1)]])
        array([[1., 0., 0.],
               [0., 1., 0.],
               [0., 0., 1.]])
    """
    xp = jax_numpy(*(part for row in rows for part in row)) or np
    return xp.concatenate([xp.concatenate(row, axis=1) for row in rows])


def scale(factor: Scalar, x: Any) -> Any:
    """Product of a scalar and an array; safe where NumPy and CasADi scalars would not meet.

    Args:
        factor: Scalar of any kind.
        x: Array.

    Returns:
        Array of the shape of ``x``.

    Example:
        >>> scale(2.0, np.ones(3))
        array([2., 2., 2.])
    """
    return x * (factor if is_numeric(factor) else array(factor))


def place_blocks(n: int, blocks: Sequence[tuple[slice, slice, Matrix]]) -> Matrix:
    """Square matrix of blocks at their places, and exact zeros elsewhere.

    Args:
        n: Number of rows and columns.
        blocks: Rows, columns and the block there.

    Returns:
        ``n x n`` matrix of the kind of the blocks.

    Example:
        >>> place_blocks(2, [(slice(0, 1), slice(0, 2), np.ones((1, 2)))])
        array([[1., 1.],
               [0., 0.]])
    """
    matrices = [matrix for _, _, matrix in blocks]
    jnp = jax_numpy(*matrices)
    if jnp is not None:
        found = jnp.zeros((n, n), jnp.result_type(*matrices))
        for rows, columns, matrix in blocks:
            found = found.at[rows, columns].set(matrix)
        return found
    out = np.full((n, n), 0.0, np.result_type(float, *matrices))
    for rows, columns, matrix in blocks:
        out[rows, columns] = matrix
    return out


def cross(a: Vector_3, b: Vector_3) -> Vector_3:
    """Cross product of two 3-vectors.

    Args:
        a: Vector (3).
        b: Vector (3).

    Returns:
        ``a x b``, 3.

    Example:
        >>> cross(np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]))
        array([0., 0., 1.])
    """
    jnp = jax_numpy(a, b)
    if jnp is not None:  # two slices of the doubled vectors: a third of the primitives of jnp.cross
        a, b = jnp.concatenate([a, a]), jnp.concatenate([b, b])
        return a[1:4] * b[2:5] - a[2:5] * b[1:4]
    if is_numeric(a) and is_numeric(b):  # plain Python numbers are faster than NumPy's one by one
        (a, b, c), (x, y, z) = a.tolist(), b.tolist()
        return _float_or_object_array([b * z - c * y, c * x - a * z, a * y - b * x])
    return array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def skew(w: Vector_3) -> Matrix_3_3:
    """Matrix of the cross product: ``skew(w) @ x = w x x``.

    Args:
        w: Vector (3).

    Returns:
        ``3 x 3`` matrix, skew.

    Example:
        >>> skew(np.array([1.0, 2.0, 3.0]))
        array([[ 0., -3.,  2.],
               [ 3.,  0., -1.],
               [-2.,  1.,  0.]])
    """
    if jax_numpy(w) is not None:
        return (_SKEW * w).sum(axis=-1)  # XLA fuses this with what follows; a product with a constant it would not
    try:
        return _SKEW @ w
    except (TypeError, ValueError):
        from .arguments import of_shape  # which is built on this file

        return _SKEW @ of_shape(w, (3,), "a vector of the cross product")


def rigid_product(H: Pose, X: Pose) -> Pose:
    """Product ``H @ X`` of homogeneous 4x4 matrices, of which ``H`` is constant.

    Args:
        H: Constant pose, ``4 x 4``, floats.
        X: Pose, ``4 x 4``, of any kind of number.

    Returns:
        ``4 x 4`` pose.

    Example:
        >>> rigid_product(np.eye(4), np.eye(4)[:, ::-1])[0]
        array([0., 0., 0., 1.])
    """
    jnp = jax_numpy(X)
    if jnp is None:
        return H @ X
    # by blocks: XLA then sees that the position of a hinge is constant, and folds all that follows from it
    R, p = H[:3, :3], X[:3, 3:]
    turned = X[:3, :3] if (np.eye(3) == R).all() else R @ X[:3, :3]
    return block([[turned, (R * p[:, 0]).sum(axis=1, keepdims=True) + H[:3, 3:]], [X[3:, :3], X[3:, 3:]]])


def from_casadi(x: Any) -> np.ndarray:
    """NumPy array of the ``SX`` scalars of a CasADi ``SX``: rank 1 for a column, else rank 2.

    Args:
        x: CasADi matrix.

    Returns:
        Object array, ``n`` for a column, else ``m x n``.

    Example:
        >>> import casadi
        >>> from_casadi(casadi.SX.sym("q", 2))
        array([SX(q_0), SX(q_1)], dtype=object)
    """
    out = np.empty(x.shape, dtype=object)
    for i, j in np.ndindex(*x.shape):
        out[i, j] = x[i, j]
    return out[:, 0] if x.shape[1] == 1 else out


def to_casadi(x: np.ndarray) -> Any:
    """CasADi ``SX`` of a NumPy array (rank 1 or 2) of numbers and ``SX`` scalars; the inverse of :func:`from_casadi`.

    Args:
        x: Array, ``n`` or ``m x n``.

    Returns:
        ``SX`` matrix, ``n x 1`` or ``m x n``.

    Example:
        >>> import casadi
        >>> to_casadi(array([casadi.SX.sym("q"), 1.0]))
        SX([q, 1])
    """
    import casadi

    rows = x[:, None] if x.ndim == 1 else x
    return casadi.vertcat(*(casadi.horzcat(*row) for row in rows))
