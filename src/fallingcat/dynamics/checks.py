"""Arguments of the wrong shape or without a value are named before they spread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import is_numeric
from ..arrays.arguments import LARGEST_FLOAT, holds_numbers, shape_of
from ..arrays.types import Vector
from ..errors import ModelError, describe
from ..model import Model, State

MAX_ARGUMENT = 1e60
"""Largest number of a state or a further argument: products of four and a mass, as in ``m q q v v``, are finite."""


def vector(x: Any, length: int, what: str) -> Vector:
    """``x`` as a vector of the given length; finite, if it holds numbers."""
    if isinstance(x, range) and len(x) != length:  # ranges take no memory, their numbers do
        raise ModelError(f"{what} must have shape ({length},), got ({len(x)},)")
    if isinstance(x, (list, tuple, range)):
        try:
            x = np.array(x, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise ModelError(f"{what} is a vector of {length} numbers, not {x!r}") from None
    return numbers(x, (length,), what)


def numbers(x: Any, shape: tuple[int, ...], what: str) -> Any:
    """``x``, if it is an array of the given shape, of any kind of number; finite where values are known."""
    if shape_of(x) != shape:
        raise ModelError(f"{what} must have shape {shape}, got {_shape(x)}")
    if not holds_numbers(x):
        raise ModelError(f"{what} is an array of numbers of shape {shape}, not {x!r}")
    check_finite(x, what)
    return x


def check_finite(x: Any, what: str) -> None:
    """Raise an error that names the first number that is not finite, or so large that results overflow.

    Numbers whose values are not known pass.
    """
    with np.errstate(over="ignore"):  # one dot product is small only if every entry is: seen at a glance
        if type(x) is np.ndarray and x.dtype == float and (flat := x.ravel()).dot(flat) <= MAX_ARGUMENT**2:
            return
        if not is_numeric(x):
            return
        good = np.abs(x) <= MAX_ARGUMENT
    if not good.all():
        at = np.unravel_index(int(np.argmin(good)), x.shape)
        index = f"at index {', '.join(map(str, at))}"
        if not np.isfinite(x[at]):
            raise ModelError(f"{what} holds a number that is not finite, {index}")
        raise ModelError(f"{what} holds {x[at]:.3g}, {index}: results overflow beyond {MAX_ARGUMENT:g}")


def call_with_state(function: Callable[[State], Any], state: State, what: str) -> Any:
    """``function(state)`` of a user's function; one that takes no state is named."""
    try:
        return function(state)
    except TypeError as error:
        raise ModelError(f"{what} is a function of a State: {error}") from error


def check_model(model: Any) -> None:
    """Raise an error unless this is a :class:`Model`."""
    if not isinstance(model, Model):
        raise ModelError(f"the first argument is a Model, not {describe(model)}: load a file, or take one of robots")


def check_robot(model: Any, state: Any) -> None:
    """Raise an error that says what to pass unless these are a :class:`Model` and a :class:`State`."""
    check_model(model)
    if not isinstance(state, State):
        raise ModelError(
            f"pass a State of {model.name!r}, not {describe(state)}: model.state(...), model.unflatten(q, v)"
        )


def check_state(model: Model, state: State) -> None:
    """Raise an error unless ``state`` has the shapes of the model and holds no NaN (a record changed by hand)."""
    check_fields(model, state)
    for name, x in zip(State._fields, state, strict=True):
        check_finite(x, name)
    if model.nq - model.base.nq > model.n and is_numeric(state.joints):
        _check_quaternions(model, state.joints)


def check_fields(model: Model, state: State) -> None:
    """Raise an error unless ``state`` has the shapes of the model, whatever its numbers."""
    check_robot(model, state)
    batch = getattr(state.pose, "shape", ())[:-2]
    if batch:
        many = f"{' x '.join(map(str, batch))} states of {model.name!r} at once: this takes one, states.at(i)"
        raise ModelError(f"{many}; compile(model, function)(states) takes all, and so does jax.vmap")
    shapes = ((4, 4), (model.nq - model.base.nq,), (model.m,), (model.n,))
    for name, x, shape in zip(State._fields, state, shapes, strict=True):
        if type(x) is np.ndarray and x.shape == shape and x.dtype == float:
            continue
        if isinstance(x, (list, tuple, range)):
            raise ModelError(
                f"{name} is an array, not {describe(x)}: make states of {model.name!r} with model.state(...)"
            )
        if shape_of(x) != shape:
            raise ModelError(f"{name} must have shape {shape} for {model.name!r}, got {_shape(x)}")
        if not holds_numbers(x):
            raise ModelError(f"{name} is an array of numbers of shape {shape}, not {x!r}")


def _check_quaternions(model: Model, joints: np.ndarray) -> None:
    """Raise an error where one is zero, which is no rotation: a state of another robot with as many coordinates."""
    for joint, place in zip(model.joints, model.q_slices, strict=True):
        names = joint.kind.group.coordinate_names
        start = place.start + names.index("qx") if "qx" in names else 0
        if "qx" in names and not joints[start : start + 4].any():
            raise ModelError(f"joint {joint.name!r}: the quaternion xyzw has length 0; is the state of another robot?")


def _shape(x: Any) -> str:
    """The shape of what was given, or itself where it has none."""
    return str(shape_of(x) or describe(x))


def choice(x: Any, options: tuple[str, ...], what: str) -> str:
    """``x`` if it is one of ``options``, else an error that lists them."""
    if not isinstance(x, str) or x not in options:
        raise ModelError(f"{what} is one of {', '.join(options)}, not {describe(x)}")
    return str(x)


def positive(x: Any, what: str, *, zero: bool = False) -> float:
    """``x`` if it is a finite number above zero, or not below it."""
    x = x.item() if isinstance(x, np.number) else x  # a float32 beside a larger number would warn
    good = isinstance(x, (int, float)) and not isinstance(x, bool) and (zero if x == 0 else 0 < x <= LARGEST_FLOAT)
    if not good:
        raise ModelError(
            f"{what} is a {'number that is not negative' if zero else 'positive number'}, not {describe(x)}"
        )
    return float(x)


def check_dynamic(model: Model) -> None:
    """Raise an error that names the links without inertia, where the mass matrix is singular at every shape."""
    check_model(model)
    if not model.kinematic:
        return
    names, more = ", ".join(map(repr, model.idle_links[:5])), len(model.idle_links) - 5
    raise ModelError(
        f"{model.name!r} is a kinematic model, with poses and Jacobians but no dynamics: nothing that has inertia "
        f"resists the motion of {names}{f' and {more} more' if more > 0 else ''} (give them masses; or load the file "
        + ('with base="fixed")' if model.idle_links == model.link_names[:1] else 'with massless="weld")')
    )


def total_mass(model: Model) -> float:
    """Mass of the robot (kg), or an error where there is none to divide by."""
    check_dynamic(model)
    if is_numeric(model.mass) and model.mass == 0.0:
        raise ModelError(f"{model.name!r} has no mass, so no center of mass")
    return model.mass
