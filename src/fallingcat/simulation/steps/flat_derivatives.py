"""Derivatives of a step in its flat coordinates, and the step under JAX that has them.

JAX differentiates arrays: ``q`` with its quaternion, not the tangent space.  The step is differentiated through its
solution all the same: forward and, transposed, backward.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from ...arrays import block, concatenate, stack
from ...arrays.differentiate import value_and_jacobian
from ...errors import ModelError
from ...lie import Group
from ...model import Model
from .step_code import simulation_step
from .step_derivatives import differentiated_step


def flat_jacobian(
    model: Model,
    q: Any,
    v: Any,
    memory: Any = None,
    forces: Any = None,
    inputs: Any = None,
    *,
    code: Callable[..., Any],
    jacobian: Callable[..., Any],
    example: Any = None,
    **options: Any,
) -> Any:
    """Derivative of ``[q, v, memory]`` after a step by ``[q, v, memory, forces, inputs]``, flat."""
    given = (q, v, memory, forces, inputs)
    after = simulation_step(model, *given, code=code, **options)[0]
    found = differentiated_step(model, *given, jacobian=jacobian, whole=memory is not None, **options)
    J = concatenate(list(found), axis=1)
    nv = model.nv
    by_q = concatenate([J[:, :nv] @ tangent_of(model, q), J[:, nv:]], axis=1)
    return concatenate([coordinates_of(model, after) @ by_q[:nv], by_q[nv:]])


def tangent_of(model: Model, q: Any) -> Any:
    """``nv x nq``: tangent vector of a change of flat coordinates."""
    return _blocks(model, q, _tangent)


def coordinates_of(model: Model, q: Any) -> Any:
    """``nq x nv``: change of flat coordinates by a tangent vector."""
    return _blocks(
        model, q, lambda group, x: value_and_jacobian(lambda d: group.moved(x, d), np.zeros(group.dim), [x])[1]
    )


def _tangent(group: Group, x: Any) -> Any:
    """``g^-1 dg`` of the coordinates of one group."""
    if group.additive:
        return np.eye(group.dim)
    size = len(group.identity())
    _, D = value_and_jacobian(lambda y: group.element(y).reshape(size * size), x, [x])
    back = group.inverse(group.element(x))
    return stack([group.vee(back @ column.reshape(size, size)) for column in D.T], axis=1)


def _blocks(model: Model, q: Any, function: Callable[[Group, Any], Any]) -> Any:
    groups = (model.base, *model.configuration.shape.factors)
    ends = [*accumulate((group.nq for group in groups), initial=0)]
    parts = [function(group, q[a:b]) for group, (a, b) in zip(groups, pairwise(ends), strict=True)]
    shapes = [part.shape for part in parts]
    rows = [
        [part if i == j else np.zeros((shapes[i][0], shapes[j][1])) for j in range(len(parts))]
        for i, part in enumerate(parts)
    ]
    return block(rows)


def under_jax(step: Callable[..., Any], sizes: tuple[int, ...], jacobian: Callable[[], Any]) -> Callable[..., Any]:
    """The compiled step with derivatives through its solution; of steps that have none, through its iterations.

    Args:
        step: Function of JAX arrays ``(..., size)``.
        sizes: Lengths of ``q``, ``v`` and memory, if there is one.
        jacobian: Makes the function of :func:`flat_jacobian` when it is needed.
    """
    import jax
    import jax.numpy as jnp

    made: list[Any] = []

    def derivatives() -> Any:
        if not made:
            try:
                made.append(jacobian())
            except ModelError:
                made.append(None)
        return made[0]

    @jax.custom_jvp
    def function(*given: Any) -> Any:
        return tuple(step(*given))

    @function.defjvp
    def rule(given: Any, moved: Any) -> Any:
        exact = derivatives()
        if exact is None:
            return jax.jvp(lambda *x: tuple(step(*x)), given, moved)
        lead = jnp.broadcast_shapes(*(x.shape[:-1] for x in moved))
        along = jnp.concatenate([jnp.broadcast_to(x, (*lead, x.shape[-1])) for x in moved], axis=-1)
        change = jnp.einsum("...ij,...j->...i", exact(*given), along)
        return function(*given), tuple(jnp.split(change, np.cumsum(sizes)[:-1].tolist(), axis=-1))

    return function
