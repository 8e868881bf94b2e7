"""Derivatives: of a function of time for every kind of number, and of traced expressions.

:func:`jacobian` goes forward, entry by entry, so that what does not depend on an input costs nothing.  It is meant
for small expressions of few inputs, such as one force law; the dynamics of large robots have derivatives of their own,
written by hand.  Along one direction (:func:`jacobian_vector_product`) and for one weight of the outputs
(:func:`vector_jacobian_product`) any expression has derivatives for two to four times its own operations.

>>> from fallingcat.arrays import Graph
>>> graph = Graph()
>>> x = graph.inputs("x", 2)
>>> y = np.array([x[0] * x[1], x[1] * x[1]])
>>> jacobian(y, x)
array([[x1, x0],
       [0.0, x1 + x1]], dtype=object)
>>> substitute(y, {x[0]: 3.0})
array([3.0 * x1, x1 * x1], dtype=object)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from . import traced
from .building import jax_numpy
from .elementwise import kind_of
from .operations import CONDITIONS, FUNCTIONS, OPERATIONS
from .traced import Traced
from .types import Matrix, Scalar, Vector

STEP: Final = 1e-40
"""Imaginary step: the imaginary part of a function, over it, is its derivative to rounding."""

Slopes = dict[int, Any]
"""The derivative along each input that matters."""


def derivative(function: Callable[[Scalar], Any], like: Any) -> Any:
    """Derivative ``d function(t) / dt`` at ``t = 0``.

    The function computes with numbers of the kind of those in ``like``.  Plain numbers take a complex step, exact to
    rounding; expressions and JAX are differentiated exactly.

    Example:
        >>> derivative(lambda t: np.array([np.exp(2.0 * t), 3.0]), like=[np.ones(2)])
        array([2., 0.])
    """
    jnp = jax_numpy(*like)
    if jnp is not None:
        from jax import jvp

        zero = jnp.zeros((), dtype=jnp.result_type(*like))
        return jvp(function, (zero,), (zero + 1.0,))[1]
    number = next((x for xs in like if xs.dtype == object for x in xs.flat if kind_of(x) is not None), None)
    if number is None:
        # no difference, so nothing cancels: squares of the step, 1e-80, vanish beside 1
        return np.imag(function(1j * STEP)) / STEP
    if not isinstance(number, Traced):
        return getattr(kind_of(number), "derivative")(function)  # noqa: B009 - each kind of number has its own
    graph = number.graph
    time, loops = graph.input(f"time{len(graph.nodes)}"), graph.loops
    graph.loops = False  # derivatives go through single operations
    values = np.asarray(function(time), dtype=object)
    slopes = substitute(jacobian(values.ravel(), [time])[:, 0], {time: 0.0})
    graph.loops = loops
    return slopes.reshape(values.shape)


def jacobian(outputs: Vector, inputs: Vector) -> np.ndarray:
    """Jacobian ``d outputs / d inputs`` (k x n) of a vector of traced numbers or floats."""
    out = np.full((len(outputs), len(inputs)), 0.0, dtype=object)
    for i, slopes in enumerate(_forward_slopes(outputs, {x: {j: 1.0} for j, x in enumerate(inputs)})):
        for j, slope in slopes.items():
            out[i, j] = slope
    return out


def value_and_jacobian(function: Callable[[Vector], Vector], x: Vector, like: Any = ()) -> tuple[Vector, Matrix]:
    """Value (k) and Jacobian (k x n) of a function of a vector, at ``x`` (n), for every kind of number.

    Traced numbers are differentiated entry by entry, without loops: for functions of few operations.

    Args:
        function: Function of a vector, which may use further numbers.
        x: Place, ``n``.
        like: Arrays of numbers of the kind that the function uses, where ``x`` may hold plain ones.

    Returns:
        ``function(x)`` and its Jacobian.

    Example:
        >>> value, J = value_and_jacobian(lambda x: np.array([x[0] * x[1], x[1] ** 2]), np.array([3.0, 2.0]))
        >>> value.tolist(), J.tolist()
        ([6.0, 4.0], [[2.0, 3.0], [0.0, 4.0]])
    """
    traced_ = (e for part in (x, *like) for e in np.asarray(part, dtype=object).flat if type(e) is Traced)
    graph = next((e.graph for e in traced_), None)
    if graph is None:
        value = function(x)
        ways = [derivative(lambda t, d=d: function(x + t * d), [x, *like]) for d in np.eye(len(x))]  # type: ignore[misc]
        return value, np.stack(ways, axis=1) if ways else np.zeros((len(value), 0))
    places = graph.inputs(f"place{len(graph.nodes)}_", len(x))
    loops, graph.loops = graph.loops, False  # derivatives go through single operations
    values = np.asarray(function(places), dtype=object)
    J = jacobian(values, places)
    found = substitute(np.concatenate([values[:, None], J], axis=1), dict(zip(places, x, strict=True)))
    graph.loops = loops
    return found[:, 0], found[:, 1:]


def jacobian_vector_product(outputs: Any, directions: Mapping[Traced, Any]) -> list[Any]:
    """Change of traced ``outputs`` (a list) where inputs change along ``directions``: ``J d``, forward.

    Example:
        >>> from fallingcat.arrays import Graph
        >>> x, y, dx = map(Graph().input, ("x", "y", "dx"))
        >>> jacobian_vector_product([x * y, y, 2.0], {x: dx})
        [y * dx, 0.0, 0.0]
    """
    return [slopes.get(0, 0.0) for slopes in _forward_slopes(outputs, {x: {0: d} for x, d in directions.items()})]


def vector_jacobian_product(outputs: Any, weights: Any, inputs: Any) -> list[Any]:
    """Slope of ``weights @ outputs`` along each of the traced ``inputs``: ``J' w``, backward, in one sweep for all.

    Example:
        >>> from fallingcat.arrays import Graph
        >>> x, y, a, b = map(Graph().input, "xyab")
        >>> vector_jacobian_product([x * y, y], [a, b], [x, y])
        [y * a, b + x * a]
    """
    graph = next((x.graph for x in inputs), None)
    nodes = [] if graph is None else graph.needed(outputs)
    matters = set(inputs)
    for node in nodes:
        if any(a in matters for a in node.args if type(a) is Traced):
            matters.add(node)
    adjoint: dict[Traced, Any] = {}
    for y, weight in zip(outputs, weights, strict=True):
        if y in matters:
            adjoint[y] = adjoint.get(y, 0.0) + weight
    for node in reversed(nodes):
        own = adjoint.get(node, 0.0)
        if node.op == "input" or (type(own) is float and own == 0.0):
            continue
        for a, share in zip(node.args, _shares(node, own), strict=False):
            if a in matters:
                adjoint[a] = adjoint.get(a, 0.0) + share
    return [adjoint.get(x, 0.0) for x in inputs]


def substitute(outputs: Any, values: Mapping[Traced, Any]) -> np.ndarray:
    """Array of ``outputs`` with other numbers in the place of some of their inputs, folded anew."""
    outputs = np.asarray(outputs, dtype=object)
    graph = next((x.graph for x in values), None)
    new: dict[Any, Any] = dict(values)
    for node in [] if graph is None else graph.needed(outputs):
        if node not in new:
            arguments = [new.get(a, a) for a in node.args]
            new[node] = (
                node if all(a is b for a, b in zip(arguments, node.args, strict=True)) else _make(node, arguments)
            )
    flat = np.empty(outputs.size, dtype=object)
    flat[:] = [new.get(x, x) if isinstance(x, Traced) else x for x in outputs.flat]
    return flat.reshape(outputs.shape)


def _make(node: Traced, arguments: list[Any]) -> Any:
    return node if node.op == "input" else MAKE[node.op](*arguments)


def _forward_slopes(outputs: Any, known: dict[Traced, Slopes]) -> list[Slopes]:
    """The slopes of ``outputs``, from those of inputs."""
    graph = next((x.graph for x in known if isinstance(x, Traced)), None)
    for node in [] if graph is None else graph.needed(outputs):
        if node not in known:
            known[node] = _chain(node, [known.get(a, {}) if isinstance(a, Traced) else {} for a in node.args])
    return [known.get(y, {}) if isinstance(y, Traced) else {} for y in outputs]


def _shares(node: Traced, own: Any) -> list[Any]:
    """Shares of the operands in the slope along ``node``."""
    if node.op == "select":
        condition = node.args[0]
        return [0.0, traced.select(condition, own, 0.0), traced.select(condition, 0.0, own)]
    return [weight * own for weight in OPERATIONS[node.op].slopes(node, *node.args)]


def _chain(node: Traced, slopes: list[Slopes]) -> Slopes:
    """The derivative of ``node`` from those of its operands."""
    if node.op == "select":
        condition = node.args[0]
        return {
            i: traced.select(condition, slopes[1].get(i, 0.0), slopes[2].get(i, 0.0)) for i in slopes[1] | slopes[2]
        }
    weights = OPERATIONS[node.op].slopes(node, *node.args) if any(slopes) else ()
    out: Slopes = {}
    for weight, slope in zip(weights, slopes, strict=False):
        for i, s in slope.items():
            out[i] = out.get(i, 0.0) + weight * s
    return out


def _replay_operation(name: str) -> Callable[..., Any]:
    def replay(*xs: Any) -> Any:
        folds = not any(isinstance(x, Traced) for x in xs)
        return OPERATIONS[name].evaluate(*xs) if folds else getattr(traced, name)(*xs)

    return replay


MAKE: Final[dict[str, Callable[..., Any]]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "select": traced.select,
    **{name: _replay_operation(name) for name in (*CONDITIONS, *FUNCTIONS)},
}
