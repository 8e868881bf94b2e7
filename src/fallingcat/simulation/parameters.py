"""Numbers that each robot of many has of its own: masses, centers and inertias of links, the friction of the floor."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from ..contact import CompliantFloor, Contact
from ..errors import ModelError, told
from ..model import Body, Model

FRICTION: Final = "friction"
BODY: Final[dict[str, tuple[int, ...]]] = {"mass": (), "center": (3,), "inertia": (3, 3)}
"""What of a link's body may differ, with its shape."""
SHAPES: Final = BODY | {FRICTION: ()}


class Parameters(NamedTuple):
    """What differs, by name (``trunk.mass``, ``friction``), and the numbers of each robot, one after the other."""

    names: tuple[str, ...]
    numbers: np.ndarray
    """``N x numbers``"""

    @property
    def columns(self) -> list[str]:
        """For each number its name."""
        return [name for name in self.names for _ in range(size([name]))]

    def of(self, model: Model, contact: Contact | None, i: int) -> tuple[Model, Any]:
        """Robot ``i`` and its floor."""
        return edited(model, contact, self.names, self.numbers[i])


def checked(model: Model, contact: Contact | None, given: Any, count: int) -> Parameters:
    """The parameters of ``count`` robots, from arrays by name; an error that names what cannot be one."""
    if given is None:
        return Parameters((), np.zeros((count, 0)))
    if not isinstance(given, Mapping):
        raise ModelError(f"parameters are arrays by name, such as {{'trunk.mass': masses}}, not {told(given)}")
    columns = [np.zeros((count, 0))]
    for name, value in given.items():
        columns.append(_numbers(value, (count, *_shape(model, contact, name)), name).reshape(count, -1))
    made = Parameters(tuple(given), np.hstack(columns))
    for name, values in zip(given, columns[1:], strict=True):
        _check_values(name, values)
    return made


def nominal(model: Model, contact: Contact | None, names: Sequence[str]) -> np.ndarray:
    """The numbers of the model and the floor themselves."""
    parts: list[Any] = [getattr(contact, name) if name == FRICTION else _of_body(model, name) for name in names]
    return np.concatenate([np.zeros(0), *(np.ravel(part) for part in parts)])


def edited(model: Model, contact: Any, names: Sequence[str], numbers: Any) -> tuple[Model, Any]:
    """The robot and its floor with these numbers, of any kind."""
    if not names:
        return model, contact
    own: dict[str, dict[str, Any]] = {}
    for name, value in zip(names, _split(names, numbers), strict=True):
        link, _, what = name.rpartition(".")
        own.setdefault(link, {})[what] = value
    if contact is not None and "" in own:
        contact = copy.copy(contact)
        object.__setattr__(contact, FRICTION, own[""][FRICTION])  # past __post_init__: it may have no value to look at
    links = tuple(
        replace(link, body=_AnyBody(**_fields(link.body) | own[link.name])) if link.name in own else link
        for link in model.links
    )
    varied = replace(model, links=links)
    known = {"mass": sum(link.body.mass for link in links), "idle_links": model.idle_links, "nominal": model}
    varied.__dict__.update(known)
    return varied, contact


@dataclass(frozen=True, eq=False)
class _AnyBody(Body):
    """A body whose numbers may be of any kind, and are not looked at."""

    def __post_init__(self) -> None:
        pass


def _fields(body: Body) -> dict[str, Any]:
    return {what: getattr(body, what) for what in BODY}


def _of_body(model: Model, name: str) -> Any:
    link, _, what = name.rpartition(".")
    return getattr(model.links[model.link_names.index(link)].body, what)


def size(names: Sequence[str]) -> int:
    """How many numbers a robot has under these names."""
    return sum(math.prod(SHAPES[name.rpartition(".")[2]]) for name in names)


def _split(names: Sequence[str], numbers: Any) -> list[Any]:
    """The numbers of each name, in its shape."""
    made, at = [], 0
    for name in names:
        count, shape = size([name]), SHAPES[name.rpartition(".")[2]]
        made.append(numbers[at : at + count].reshape(shape)[()])
        at += count
    return made


def _shape(model: Model, contact: Contact | None, name: Any) -> tuple[int, ...]:
    """Of the numbers that one robot has under a name."""
    if name == FRICTION:
        if not isinstance(contact, CompliantFloor) or contact.friction is None:
            raise ModelError("friction of each robot takes a compliant floor that has friction")
        return ()
    link, _, what = str(name).rpartition(".")
    if what not in BODY or link not in model.link_names:
        raise ModelError(
            f"a parameter is 'friction', or a link of {model.name!r} with .mass, .center or .inertia, not {told(name)}"
        )
    return BODY[what]


def _numbers(value: Any, shape: tuple[int, ...], name: str) -> np.ndarray:
    try:
        numbers = np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        numbers = np.zeros(0)
    if numbers.shape != shape or not np.isfinite(numbers).all():
        raise ModelError(f"{name!r} of each robot is an array {shape} of finite numbers, not {told(value)}")
    return numbers


def _check_values(name: str, values: np.ndarray) -> None:
    """Whether each row can be what it is called."""
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
