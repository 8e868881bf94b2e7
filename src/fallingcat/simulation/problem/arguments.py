"""Arguments of runs: checked before anything moves, and named where they are wrong."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from inspect import signature
from typing import Any

import numpy as np

from ...arrays.arguments import shape_of
from ...arrays.building import is_jax_tracer
from ...arrays.vectorize import vectorize
from ...control import Law
from ...dynamics.checks import check_model
from ...errors import ModelError, NumericsError, describe
from ...model import Model, State

DEVICES, STEP_TARGETS = ("cpu", "cuda"), ("numpy", "c", "casadi", "jax")
"""Targets of simulations; others are those of :func:`fallingcat.compile`."""
MAX_STEPS = 2**53
"""Beyond it, time plus a step is the same time."""
MAX_SINGLE_DRIFT = float(np.sqrt(np.finfo(np.float32).eps))
"""Distance from the base group, relative to their largest entry, of poses that steps in single precision return."""
MAX_RECORD_BYTES = 8e9
"""Memory that a run may keep."""


def check_concrete(*given: Any) -> None:
    """Refuse numbers that JAX traces, in times, states, or fields of laws: a run branches on its numbers."""
    for x in given if "jax" in sys.modules else ():
        if is_jax_tracer(x):
            rule = "a run branches on its numbers, so that jax.grad, jit and vmap do not go through it"
            way = (
                "take fc.simulation.gradient, or scan fc.simulation.step(model, dt=..., target='jax') with jax.lax.scan"
            )
            raise ModelError(f"{rule}: {way} instead")
        if isinstance(x, (list, tuple)):
            check_concrete(*x)
        elif isinstance(x, Law):
            check_concrete(*vars(x).values())


def seconds(x: Any, what: str, *, zero: bool = False) -> float:
    """A finite time above zero, or not below it.

    >>> seconds(-1.0, "dt")
    Traceback (most recent call last):
    fallingcat.errors.ModelError: dt is a finite number of seconds above zero, not -1.0
    """
    rule = "and not negative" if zero else "above zero"
    try:
        value = np.nan if isinstance(x, (str, bytes)) else float(x)
    except (TypeError, ValueError, OverflowError):
        value = np.nan
    if not np.isfinite(value) or value < 0.0 or (value == 0.0 and not zero):
        raise ModelError(f"{what} is a finite number of seconds {rule}, not {describe(x)}")
    return value


def countable(duration: float, dt: float) -> None:
    """An error if there are so many steps that time would stand still."""
    if duration > MAX_STEPS * dt:
        raise ModelError(f"{duration:g} s in steps of {dt:g} s are more than {MAX_STEPS:.0e} steps")


def keepable(samples: float, numbers: int) -> None:
    """Raise an error if samples of so many numbers each need too much memory."""
    size = 8.0 * numbers * samples
    if size > MAX_RECORD_BYTES:
        enough = 10 ** int(np.ceil(np.log10(size / MAX_RECORD_BYTES)))
        raise ModelError(f"{samples:.2g} samples are {size / 1e9:.2g} GB: keep fewer, every={enough} steps, say")


def check_target(target: Any) -> None:
    """An error that lists the devices that simulations run on, if this is none."""
    if target not in DEVICES:
        devices, steps = " or ".join(map(repr, DEVICES)), ""
        if target in STEP_TARGETS:
            steps = f": fc.simulation.step(..., target={target!r}) gives one step as a function there"
        raise ModelError(f"simulations run on the target {devices}, not on {describe(target)}{steps}")


def whole(x: Any, what: str) -> int:
    """A whole number above zero."""
    if isinstance(x, bool) or not isinstance(x, (int, np.integer)) or x < 1:
        raise ModelError(f"{what} is a whole number above zero, not {x!r}")
    return int(x)


def start(model: Model, state: Any) -> State:
    """A copy of a state of the model, as read-only floats."""
    if not isinstance(state, State):
        raise ModelError(
            f"a run of {model.name!r} starts from a state, such as model.state(...), not {describe(state)}"
        )
    made = model.state(*(np.asarray(x) for x in state))
    if made.batch:
        raise ModelError(f"a run starts from one state, not from {made.batch[0]}: rollout runs many at once")
    if any(x.dtype != float for x in made):
        raise ModelError("a run starts from plain real numbers")
    return read_only(State(*(x.copy() for x in made)))


def starts(model: Model, states: Sequence[Any] | State) -> State:
    """The states of many runs, a list or one batch of them, as one checked batch of floats (N, ...)."""
    check_model(model)
    if not isinstance(states, State):
        states = _stacked(model, states)
    try:
        fetched = [x.get() if hasattr(x, "get") else np.asarray(x) for x in states]  # from a GPU
        fetched[0] = _rotations(model, fetched[0])
        many = model.state(*(np.array(x, dtype=float) for x in fetched))
    except (TypeError, ValueError):
        raise ModelError("states of arrays are arrays of real numbers") from None
    if not many.batch:
        raise ModelError("many runs start from a list of states, [state] for one, or from one state of arrays")
    if len(many.batch) != 1:
        raise ModelError(f"pose of many states of {model.name!r} must have shape (N, 4, 4), got {many.pose.shape}")
    if not len(many.pose):
        raise ModelError("there is no state to start from")
    return many


def _rotations(model: Model, poses: np.ndarray) -> np.ndarray:
    """Poses of a batch in single precision, whose steps let them drift, brought back to the base group."""
    if poses.dtype != np.float32 or poses.ndim != 3:
        return poses
    poses, group = poses.astype(float), model.base
    near = vectorize(lambda g: group.element(group.coordinates(g)), poses, rank=2)
    allowed = MAX_SINGLE_DRIFT * np.maximum(1.0, np.abs(poses).max(axis=(1, 2), initial=0.0))
    drifted = np.abs(near - poses).max(axis=(1, 2), initial=0.0) <= allowed
    return np.where(drifted[:, None, None], near, poses)


def _stacked(model: Model, states: Any) -> State:
    """A list of states as one batch."""
    if isinstance(states, str) or not isinstance(states, Sequence):
        raise ModelError(f"states is a list of states of {model.name!r}, or one of arrays, not {describe(states)}")
    if not len(states):
        raise ModelError("there is no state to start from")
    neutral = model.neutral()
    for i, state in enumerate(states):
        none = f"state {i} is none of {model.name!r}"
        if not isinstance(state, State):
            raise ModelError(f"{none}: a run starts from a state, such as model.state(...), not {describe(state)}")
        for name, x, own in zip(State._fields, state, neutral, strict=True):
            if np.shape(x) != own.shape:
                raise ModelError(f"{none}: {name} must have shape {own.shape}, got {np.shape(x)}")
    return State.stack(states)


def read_only(state: State) -> State:
    """The same state for others to look at."""
    return State(*(_locked(x) for x in state))


def _locked(x: Any) -> np.ndarray:
    view = np.asarray(x).view()
    view.flags.writeable = False
    return view


def check_signature(controller: Any, state: State) -> None:
    """An error unless a controller can be called with the time and the state.

    >>> import fallingcat as fc
    >>> check_signature(lambda state: -state.rates, fc.robots.planar_arm().neutral())
    Traceback (most recent call last):
    fallingcat.errors.ModelError: a controller is called as f(t, state), t in s: too many positional arguments
    """
    try:
        signature(controller).bind(0.0, state)
    except ValueError:  # built-in callables have no signature
        return
    except TypeError as error:
        raise ModelError(f"a controller is called as f(t, state), t in s: {error}") from None


def answered(controller: Any, t: float, state: State) -> Any:
    """Forces of a controller; an exception of it names the time."""
    try:
        return controller(t, read_only(state))
    except Exception as error:
        error.add_note(f"in the controller, at t = {t:.9g} s")
        if isinstance(error, ValueError) and "read-only" in str(error):
            error.add_note("a state is read-only: change a copy, as in x = state.joints.copy()")
        raise


def carry(error: Exception, t: float, result: Any) -> None:
    """Attach the run so far as ``result`` to the exception that ended it at ``t`` (s), unless it has its own.

    >>> error = ZeroDivisionError("division by zero")
    >>> carry(error, 0.25, "the run so far")
    >>> error.result, error.__notes__
    ('the run so far', ['the run up to t = 0.25 s is the `result` of this exception'])
    """
    if not hasattr(error, "result"):
        error.result = result  # type: ignore[attr-defined]
        error.add_note(f"the run up to t = {t:.6g} s is the `result` of this exception")


def controller_size(model: Model, given: Any) -> int:
    """Number of forces of a controller: n or nv."""
    size = shape_of(given)
    if size not in ((model.n,), (model.nv,)):
        wanted = f"{model.n} joint forces" + (f", or {model.nv} with those on the base" if model.m else "")
        said = f"shape {size}" if size else describe(given)
        raise ModelError(f"the controller gives {wanted}, not {said}")
    return len(given)


def real_numbers(given: Any) -> np.ndarray:
    """New array of floats; a TypeError for what is masked, complex, a text, a date or a record."""
    numbers = np.asarray(given)
    if isinstance(given, np.ma.MaskedArray) or numbers.dtype.kind not in "biufO":
        raise TypeError(f"{describe(given)} holds no real numbers")
    return numbers.astype(float)


def joint_forces(given: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Joint forces that a caller gives to steps, whatever their values."""
    if type(given) is not np.ndarray or given.dtype.kind != "f":
        try:
            given = real_numbers(given)
        except (TypeError, ValueError, OverflowError):
            raise ModelError(f"forces must be numbers of shape {shape}, got {describe(given)}") from None
    if given.shape != shape:
        raise ModelError(f"forces must have shape {shape}, got {describe(given)}")
    return given


def controller_forces(model: Model, given: Any, size: int, t: float) -> np.ndarray:
    """Forces of a controller: ``size`` finite numbers, or an error that names the time and the joint."""
    try:
        forces = real_numbers(given)
    except (TypeError, ValueError, OverflowError):
        check_concrete(given)
        raise NumericsError(f"the controller gives {size} numbers, not {given!r}", time=t) from None
    if forces.shape != (size,):
        raise NumericsError(f"the controller gives {size} numbers, not shape {forces.shape}", time=t)
    finite = np.isfinite(forces)
    if not finite.all():
        k = int(np.argmin(finite))
        at = k - (size - model.n)
        joint = model.rate_joints[at] if at >= 0 else None
        rule = "the controller's force is not finite" if joint else "the controller's force on the base is not finite"
        raise NumericsError(rule, time=t, joint=joint, value=forces[k])
    return forces
