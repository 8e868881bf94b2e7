"""Numbers that each robot of many has of its own: masses, centers and inertias of links, the friction of the floor.

What a law makes of masses by looking at values, the inertias behind joints, is worked out beforehand for each robot.
"""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from ...compiler import compile
from ...contact import Contact
from ...contact.capabilities import LinearizedForces, offers
from ...contact.effective_mass import effective_mass, largest_mobility, point_mobility
from ...control.laws.carried_inertia import carried_inertia, least_inertia, shapes
from ...dynamics import mass_matrix
from ...errors import ModelError, describe
from ...model import Body, Model, State

FRICTION: Final = "friction"
FLOOR: Final[dict[str, tuple[int, ...]]] = {FRICTION: (), "stiffness": (2,), "damping": (2,)}
"""Parameters of a floor that steps may take as arguments, with their shapes."""
BODY: Final[dict[str, tuple[int, ...]]] = {"mass": (), "center": (3,), "inertia": (3, 3)}
"""Parameters of a link's body that may differ, with their shapes."""
CARRIED_INERTIA: Final = "inertias behind joints"
"""``n``: see :mod:`fallingcat.control.laws.carried_inertia`; what stops and friction of joints are made for"""
POINT_MOBILITY: Final = "mobility of contact points"
"""1/kg: see :func:`fallingcat.contact.effective_mass.effective_mass`; what steps on a compliant floor are made for"""
ROBOTS_PER_CALL: Final = 4096
"""Robots whose mass matrices are looked at together."""


class Parameters(NamedTuple):
    """Parameters that differ, by name (``trunk.mass``, ``friction``), and the numbers of each robot."""

    names: tuple[str, ...]
    numbers: np.ndarray
    """``N x numbers``"""

    def of(self, model: Model, contact: Contact | None, i: int) -> tuple[Model, Any]:
        """Robot ``i`` and its floor."""
        return edited(model, contact, self.names, self.numbers[i])


def checked(model: Model, contact: Contact | None, given: Any, count: int) -> Parameters:
    """The parameters of ``count`` robots, from arrays by name; an error that names what cannot be one."""
    if given is None:
        return Parameters((), np.zeros((count, 0)))
    if not isinstance(given, Mapping):
        raise ModelError(f"parameters are arrays by name, such as {{'trunk.mass': masses}}, not {describe(given)}")
    columns = [np.zeros((count, 0))]
    for name, value in given.items():
        columns.append(_numbers(value, (count, *_shape(model, contact, name)), name).reshape(count, -1))
    made = Parameters(tuple(given), np.hstack(columns))
    for name, values in zip(given, columns[1:], strict=True):
        _check_values(name, values)
    if not set(made.names) - {FRICTION}:
        return made
    more = {CARRIED_INERTIA: _behind(model, *made)} if model.n else {}
    if contact is not None and offers(contact, LinearizedForces):
        more[POINT_MOBILITY] = _mobilities(model, contact, *made)
    return Parameters((*made.names, *more), np.hstack([made.numbers, *more.values()]))


def nominal(model: Model, contact: Contact | None, names: Sequence[str]) -> np.ndarray:
    """The numbers of the model and the floor themselves."""
    floor_values: dict[str, Any] = {name: functools.partial(getattr, contact, name) for name in FLOOR}
    floor_values[CARRIED_INERTIA] = lambda: carried_inertia(model)
    floor_values[POINT_MOBILITY] = lambda: effective_mass(model, contact)
    parts = [floor_values[name]() if name in floor_values else _of_body(model, name) for name in names]
    return np.concatenate([np.zeros(0), *(np.ravel(part) for part in parts)])


def mobility_with(model: Model, floor: Contact, names: Sequence[str], numbers: Any) -> Any:
    """1/kg: :func:`.effective_mass` of a robot with the last of these numbers."""
    own = dict(zip(names, _split(model, names, numbers), strict=True))
    return own[POINT_MOBILITY] if POINT_MOBILITY in own else effective_mass(model, floor)


def masses(parameters: Parameters, model: Model) -> np.ndarray:
    """``N`` (kg): the masses of each robot that differ, together."""
    each = zip(parameters.names, _split(model, parameters.names, parameters.numbers), strict=True)
    return sum((value for name, value in each if name.endswith(".mass")), start=np.zeros(len(parameters.numbers)))


def total_masses(parameters: Parameters, model: Model, floor: Contact) -> tuple[np.ndarray, np.ndarray]:
    """``N`` each: the mass (kg) of each robot, and the mobility of its points (1/kg, :func:`.effective_mass`)."""
    names, numbers = parameters
    usual = Parameters(names, nominal(model, floor, names)[None])
    whole = model.mass + masses(parameters, model) - masses(usual, model)
    return whole, np.broadcast_to(mobility_with(model, floor, names, numbers), len(numbers))


def mass_with(model: Model, state: State, numbers: Any, *, varied: tuple[str, ...]) -> Any:
    """``M`` (nv x nv) of a robot with these numbers."""
    return mass_matrix(edited(model, None, varied, numbers)[0], state)


def _behind(model: Model, names: tuple[str, ...], numbers: np.ndarray) -> np.ndarray:
    """``N x n``: the inertias behind the joints of each robot."""
    found = (least_inertia(at, model.m) for at in _masses(model, shapes(model), names, numbers))
    return np.concatenate([np.zeros((0, model.n)), *found])


def _mobilities(model: Model, floor: Contact, names: tuple[str, ...], numbers: np.ndarray) -> np.ndarray:
    """``N x 1``: mobility of the points of each robot."""
    about, neutral = point_mobility(model, floor), [model.neutral()]
    found = (largest_mobility(at[0], *about) for at in _masses(model, neutral, names, numbers))
    return np.concatenate([np.zeros(0), *found])[:, None]


def _masses(model: Model, at: Sequence[State], names: tuple[str, ...], numbers: np.ndarray) -> Iterator[np.ndarray]:
    """``M`` (shapes x some x nv x nv) of some robots after others, at these shapes."""
    kernel = compile(model, mass_with, inputs={"numbers": numbers.shape[1]}, state=["joints"], varied=names)
    for k in range(0, len(numbers), ROBOTS_PER_CALL):
        some = numbers[k : k + ROBOTS_PER_CALL]
        yield np.array([kernel(np.tile(state.joints, (len(some), 1)), some) for state in at])


def edited(model: Model, contact: Any, names: Sequence[str], numbers: Any) -> tuple[Model, Any]:
    """The robot and its floor with the last of these numbers, of any kind: those of laws come first in a step."""
    if not names:
        return model, contact
    own: dict[str, dict[str, Any]] = {}
    for name, value in zip(names, _split(model, names, numbers), strict=True):
        link, _, what = name.rpartition(".")
        own.setdefault(link, {})[what] = value
    of_floor = {name: value for name, value in own.get("", {}).items() if name in FLOOR}
    if contact is not None and of_floor:
        contact = copy.copy(contact)
        for name, value in of_floor.items():  # past __post_init__: it may have no value to look at
            object.__setattr__(contact, name, tuple(value) if FLOOR[name] else value)
    links = tuple(
        replace(link, body=_AnyBody(**_fields(link.body) | own[link.name])) if link.name in own else link
        for link in model.links
    )
    varied = replace(model, links=links)
    known = {"mass": sum(link.body.mass for link in links), "idle_links": model.idle_links, "nominal": model}
    varied.__dict__.update(known | {"carried_inertias": own.get("", {}).get(CARRIED_INERTIA)})
    return varied, contact


@dataclass(frozen=True, eq=False)
class _AnyBody(Body):
    """Body whose numbers may be of any kind, and are not checked."""

    def __post_init__(self) -> None:
        pass


def _fields(body: Body) -> dict[str, Any]:
    return {what: getattr(body, what) for what in BODY}


def _of_body(model: Model, name: str) -> Any:
    link, _, what = name.rpartition(".")
    return getattr(model.links[model.link_names.index(link)].body, what)


def size(model: Model, names: Sequence[str]) -> int:
    """Number of entries that a robot has under these names."""
    return sum(math.prod(_known_shape(model, name)) for name in names)


def _known_shape(model: Model, name: str) -> tuple[int, ...]:
    return (BODY | FLOOR | {CARRIED_INERTIA: (model.n,), POINT_MOBILITY: ()})[name.rpartition(".")[2]]


def _split(model: Model, names: Sequence[str], numbers: Any) -> list[Any]:
    """The numbers of each name, in its shape: the last ones of all those (... x numbers) of a step."""
    made, at = list[Any](), numbers.shape[-1] - size(model, names)
    for name in names:
        count, shape = size(model, [name]), _known_shape(model, name)
        made.append(numbers[..., at : at + count].reshape((*numbers.shape[:-1], *shape))[()])
        at += count
    return made


def _shape(model: Model, contact: Contact | None, name: Any) -> tuple[int, ...]:
    """Shape of the numbers that one robot has under a name."""
    if name == FRICTION:
        given = getattr(contact, FRICTION, None)
        if given is None or isinstance(given, tuple):
            rule = "takes a floor that has friction, one coefficient for all points (friction=1.0)"
            raise ModelError(f"friction of each robot {rule}")
        return ()
    link, _, what = str(name).rpartition(".")
    if what not in BODY or link not in model.link_names:
        raise ModelError(
            f"a parameter is 'friction', or a link of {model.name!r} with .mass, .center or .inertia, "
            f"not {describe(name)}"
        )
    return BODY[what]


def _numbers(value: Any, shape: tuple[int, ...], name: str) -> np.ndarray:
    try:
        numbers = np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        numbers = np.zeros(0)
    if numbers.shape != shape:
        said = f"an array of shape {numbers.shape}" if numbers.size and numbers.shape else describe(value)
        raise ModelError(f"{name!r} of each robot is an array {shape} of finite numbers, not {said}")
    if not np.isfinite(numbers).all():
        robot = int((~np.isfinite(numbers.reshape(len(numbers), -1))).any(axis=1).argmax())
        raise ModelError(f"{name!r} of robot {robot} is finite, not {numbers[robot].tolist()}")
    return numbers


def _check_values(name: str, values: np.ndarray) -> None:
    """Check that each row can be what it is called."""
    what = name.rpartition(".")[2]
    if what == "inertia":
        inertia = values.reshape(-1, 3, 3)
        wrong = np.abs(inertia - inertia.transpose(0, 2, 1)).max(axis=(1, 2)) > 1e-12 * np.abs(inertia).max(axis=(1, 2))
        rule = "a symmetric matrix"
    elif what == "center":
        return
    else:
        lowest, rule = (1e-100, "above zero") if what == "mass" else (0.0, "not negative")
        wrong = (values < lowest).any(axis=1)
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ModelError(f"{name!r} of robot {i} is {rule}, not {values[i].tolist()}")
