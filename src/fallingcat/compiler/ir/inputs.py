"""Inputs of a kernel: named, shaped arrays, possibly empty; the first of them may say the state of the robot."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ...arrays import concatenate, sizes_of
from ...arrays.types import Matrix, Twist, Vector
from ...errors import ModelError, describe
from ...lie.rotations import homogeneous
from ...model import Model, State
from ...model.states import check_record, of_arrays, shapes_of

Shape = int | tuple[int, ...]
"""Shape of an input: a vector's length, or a tuple; ``()`` is one number."""
FLAT_STATE_FIELDS: Final = ("q", "v")
"""Arguments that give the state unless fields of it are named: as :meth:`Model.flatten` makes them."""
MAX_AXES: Final = 60
"""Largest number of axes of a batch: NumPy's arrays have at most 64."""
MAX_NUMBERS: Final = 1 << 44
"""More are larger than the memory that a process can address."""


ARGUMENT_MEANINGS: Final = {
    "acceleration": "of the quasi-velocity: base, then joints (m/s^2, rad/s^2)",
    "forces": "on base and joints (N, N m)",
    "point": "in the axes of its link (m)",
}
"""Meaning of further arguments of public functions."""


class Argument(NamedTuple):
    """One input of a kernel."""

    name: str
    shape: tuple[int, ...]
    meaning: str

    @property
    def size(self) -> int:
        """Number of entries."""
        return math.prod(self.shape)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.shape))})"

    def lead(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The batch shape of an array of this input: what stands before its own shape."""
        count = len(shape) - len(self.shape)
        if count < 0 or shape[count:] != self.shape:
            raise ModelError(f"{self.name} must have shape ({', '.join(['...', *map(str, self.shape)])}), got {shape}")
        return shape[:count]


def check_count(name: str, arguments: Sequence[Argument], given: Sequence[Any]) -> None:
    """Raise an error unless a call of ``name`` gives as many arrays as it takes."""
    if len(given) != len(arguments):
        names = ", ".join(a.name for a in arguments)
        state = ", where a state counts as q and v" if names.startswith("q, v") else ""
        raise ModelError(f"{name} takes {len(arguments)} arguments ({names}), not {len(given)}{state}")


def batch_shape(leads: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The one that all of these repeat to.

    Example:
        >>> batch_shape([(3, 1), (), (2,)])
        (3, 2)
    """
    width = max(map(len, leads), default=0)
    axes = [{*sizes} - {1} for sizes in zip(*((1,) * (width - len(own)) + own for own in leads), strict=True)]
    if any(len(sizes) > 1 for sizes in axes):
        raise ModelError(f"the batch shapes {', '.join(map(str, leads))} do not fit together")
    return tuple(max(sizes, default=1) for sizes in axes)  # NumPy's own has at most 32 axes


def check_batch(lead: tuple[int, ...], size: int) -> None:
    """An error where results (``size`` numbers each) of such a batch are no array of NumPy's, or too large for memory.

    Example:
        >>> check_batch((1,) * 70, 3)
        Traceback (most recent call last):
        fallingcat.errors.ModelError: a batch has at most 60 axes, not 70
    """
    if len(lead) > MAX_AXES:
        raise ModelError(f"a batch has at most {MAX_AXES} axes, not {len(lead)}")
    if math.prod(lead) * max(size, 1) >= MAX_NUMBERS:
        raise ModelError(f"a batch of {math.prod(lead):,} states is larger than memory can be")


def function_name(function: Callable[..., Any]) -> str:
    """Name of a function in messages."""
    return str(getattr(function, "__name__", "the function"))


def parameters_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Parameters of a function after the model."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise ModelError(
            f"{function_name(function)} does not say what it takes: compile one of yours that calls it"
        ) from None
    return parameters[1:] if parameters and parameters[0].kind is not inspect.Parameter.VAR_POSITIONAL else parameters


def given_state(
    function: Callable[..., Any], inputs: Mapping[str, Shape], fields: Sequence[str] | None
) -> tuple[str, ...] | None:
    """Which inputs say the state; None where the function takes none: the parameter after the model is an input."""
    first = next(iter(parameters_of(function)), None)
    if first is not None and first.kind not in (first.KEYWORD_ONLY, first.VAR_KEYWORD) and first.name not in inputs:
        return FLAT_STATE_FIELDS if fields is None else tuple(fields)
    if fields is not None:
        raise ModelError(f"{function_name(function)} takes no state that could be given by fields")
    return None


def state_arguments(model: Model, given: Sequence[str]) -> list[Argument]:
    """The inputs that say the state."""
    known = {
        "q": ((model.nq,), "configuration: base coordinates, then joints (m, rad)"),
        "v": ((model.nv,), "quasi-velocity: base twist, then joint rates (m/s, rad/s)"),
        "pose": ((3, 4), "rows [R p] of the pose of the base (1, m)"),
        "joints": ((model.nq - model.base.nq,), "coordinates of the joints (rad or m)"),
        "twist": ((model.m,), "body-fixed velocity of the base (m/s, rad/s)"),
        "rates": ((model.nv - model.m,), "velocities of the joints (rad/s or m/s)"),
    }
    return [Argument(name, *known[name]) for name in given]


def state_of(model: Model, given: Mapping[str, Any]) -> State:
    """The state that these arrays say; what is left out is neutral."""
    if "q" in given:
        return model.unflatten(given["q"], given.get("v"))
    fields = dict(given)
    if "pose" in fields:
        fields["pose"] = homogeneous(fields["pose"][:, :3], fields["pose"][:, 3])
    return model.neutral()._replace(**fields)


def fields(state: State) -> tuple[Matrix, Vector, Twist, Vector]:
    """Arguments of a kernel compiled with ``state=State._fields``: ``k(*fields(state), ...)``.

    Args:
        state: State of the robot, or a batch.

    Returns:
        ``[R p]`` (... x 3 x 4), joints, twist and rates.

    Example:
        >>> from fallingcat.model import robots
        >>> [x.shape for x in fields(robots.cat().neutral())]
        [(3, 4), (10,), (6,), (10,)]
    """
    return state.pose[..., :3, :], state.joints, state.twist, state.rates


def flat_state(model: Model, pose: Any, joints: Any, twist: Any, rates: Any) -> tuple[Any, Any]:
    """:meth:`Model.flatten` of the fields of a state, as a function that can be compiled."""
    return concatenate([model.base.coordinates(pose), joints]), concatenate([twist, rates])


def inputs_of(
    model: Model, given: Sequence[str], state: State, flattener: Callable[[Model], Callable[..., Any]]
) -> Sequence[Any]:
    """The inputs ``given`` that say a state, or a batch of them; ``flattener`` compiles :func:`flat_state`."""
    if tuple(getattr(x, "shape", None) for x in state) != shapes_of(model):  # a batch, lists, or no state of this robot
        check_record(model, state)
        state = of_arrays(state)
    if given[0] in FLAT_STATE_FIELDS:
        flat: Sequence[Any] = flattener(model)(*state)
        return flat if len(given) == len(FLAT_STATE_FIELDS) else [flat[FLAT_STATE_FIELDS.index(given[0])]]
    known = dict(zip(State._fields, fields(state), strict=True))
    return [known[name] for name in given]


def state_inputs(model: Model, state: State) -> dict[str, np.ndarray]:
    """Every input that may say this state: the inverse of :func:`state_of`."""
    return dict(
        zip((*FLAT_STATE_FIELDS, *State._fields), (*model.flatten(state), *fields(of_arrays(state))), strict=True)
    )


def bound_arguments(
    name: str,
    model: Model,
    signature: Sequence[Argument],
    given: Sequence[str],
    arguments: Sequence[Any],
    by_name: Mapping[str, Any] | None = None,
) -> Sequence[Any]:
    """Arguments of a call of ``name``, as the inputs of its ``signature``, of which ``given`` say the state.

    A :class:`State` is :func:`expanded_states`; a velocity that does not matter may be given, and is dropped.
    """
    arguments = expanded_states(model, given, arguments)
    state_argument = FLAT_STATE_FIELDS[1:] if tuple(given) == FLAT_STATE_FIELDS[:1] else ()
    if by_name:
        return _in_order(name, [argument.name for argument in signature], state_argument, arguments, by_name)
    if state_argument and len(arguments) == len(signature) + 1:
        return [arguments[0], *arguments[2:]]
    return arguments


def _in_order(
    name: str, names: list[str], state_argument: Sequence[str], arguments: Sequence[Any], by_name: Mapping[str, Any]
) -> list[Any]:
    """Arguments as a call without names would give them; those ``state_argument`` may be left out."""
    for order in ([*names[:1], *state_argument, *names[1:]], names):
        rest = order[len(arguments) :]
        if set(by_name) <= set(rest) and set(rest) <= {*by_name, *state_argument}:
            known = dict(zip(order, arguments, strict=False)) | dict(by_name)
            return [known[each] for each in names]
    told_names = ", ".join([*names[: len(arguments)], *by_name])
    raise ModelError(f"{name} takes {', '.join(names)}, each once; given are {told_names}")


def expanded_states(model: Model, given: Sequence[str], arguments: Sequence[Any]) -> Sequence[Any]:
    """Arguments of which a :class:`State` in the first place, one or many, is written as the inputs that say it."""
    if not (given and arguments and isinstance(arguments[0], State)):
        return arguments
    known = state_inputs(model, arguments[0])
    return [*(known[name] for name in given), *arguments[1:]]


def further_arguments(
    model: Model,
    function: Callable[..., Any],
    inputs: Mapping[str, Shape],
    options: Mapping[str, Any],
    takes_state: bool,
) -> list[Argument]:
    """The inputs beside the state, in the function's own order: what must be given, and what ``inputs`` asks for."""
    shapes = {name: getattr(model, size) for name, size in sizes_of(function).items()} | dict(inputs)
    out = []
    for p in parameters_of(function)[int(takes_state) :]:
        needed = p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        if p.name in options or not (needed or p.name in inputs):
            continue
        if p.name not in shapes:
            raise ModelError(
                f"compile cannot tell the shape of the argument {p.name!r}: say inputs={{{p.name!r}: ...}}, "
                f"or give its value, {p.name}=..."
            )
        shape = shapes[p.name]
        sizes = shape if isinstance(shape, tuple) else (shape,)
        out.append(Argument(p.name, tuple(int(n) for n in sizes), ARGUMENT_MEANINGS.get(p.name, "")))
    return out


def check_inputs(inputs: Any, state: Any) -> None:
    """Raise an error unless these can be inputs of anything."""
    if not isinstance(inputs, Mapping):
        raise ModelError(f"inputs is a mapping from arguments to their shapes, not {describe(inputs)}")
    for name, shape in inputs.items():
        sizes = shape if isinstance(shape, tuple) else (shape,)
        if not all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) and n >= 0 for n in sizes):
            raise ModelError(f"the shape of the input {name!r} is whole numbers, not {describe(shape)}")
    fields = () if state is None else state
    named = isinstance(fields, Sequence) and not isinstance(fields, str) and all(x in State._fields for x in fields)
    if not named or len(set(fields)) < len(fields):
        raise ModelError(
            f"state names fields of a state ({', '.join(State._fields)}), each once, not {describe(state)}"
        )
