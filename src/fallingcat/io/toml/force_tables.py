"""Tables of tendons, force elements and actuators of a TOML robot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Self

import numpy as np
from pydantic import Field, FiniteFloat, model_validator

from ...errors import ModelError
from ...model import FixedTendon, ForceElement, Muscle, Pulley, SpatialTendon, Tendon, Via, Wrap
from ...model.activation import KINDS as ACTIVATIONS
from ...model.actuator import Actuator, ActuatorKind
from ...model.force_elements import KINDS as ELEMENTS
from ...model.transmissions import KINDS as TRANSMISSIONS
from ..limits import MAX_SHAPES
from .parts import OWN, make_part, moved, part_table
from .placed import PlacementTable, Table
from .values import Interval, Name, Point, numbers, wrong


class ActuatorTable(Table):
    """Drive of a joint, a tendon or a site; unlimited by default."""

    name: Name
    joint: Name | None = None
    transmission: dict[str, Any] | None = None
    type: ActuatorKind = "motor"
    gear: FiniteFloat = 1.0
    kp: FiniteFloat = 0.0
    kv: FiniteFloat = 0.0
    control_range: Interval | None = None
    force_range: Interval | None = None
    gain: FiniteFloat = 1.0
    bias: Annotated[list[FiniteFloat], numbers("a bias", 3)] | None = None
    gain_slope: Interval | None = None
    activation: dict[str, Any] | None = None
    muscle: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _pulls(self) -> Self:
        if (self.joint is None) == (self.transmission is None):
            raise wrong("an actuator has a joint, or a transmission")
        return self

    def build(self) -> Actuator:
        """The actuator."""
        keys = ("control_range", "force_range", "bias", "gain_slope")
        more: dict[str, Any] = {key: x for key in keys if (x := getattr(self, key)) is not None}
        if self.transmission is not None:
            more["transmission"] = _part(self.transmission, "transmission", TRANSMISSIONS)
        if self.activation is not None:
            more["activation"] = _part(self.activation, "activation", ACTIVATIONS)
        if self.muscle is not None:
            more["muscle"] = make_part(Muscle, **_tuples(self.muscle))
        joint = self.joint or ""
        return Actuator(self.name, joint, self.type, self.gear, self.kp, self.kv, gain=self.gain, **more)


class PathTable(PlacementTable):
    """One element of the path of a tendon: a point, a shape to go around, or a pulley."""

    through: Name | None = None
    point: Point | None = None
    around: str | None = None
    on: Name | None = None
    radius: FiniteFloat | None = None
    side: PathTable | None = None
    inside: bool = False
    divisor: FiniteFloat | None = None

    def build(self) -> Via | Wrap | Pulley:
        """The element."""
        if self.divisor is not None:
            return Pulley(self.divisor)
        if self.around is None:
            return Via(self.through, np.zeros(3) if self.point is None else np.array(self.point))
        if self.radius is None:
            raise ModelError("'radius' is missing")
        side = None if self.side is None else self.side.build()
        if not isinstance(side, Via | None):
            raise ModelError("the side of a shape is a point")
        return Wrap(self.on, self.around, self.radius, side, self.placement(), self.inside)


class TendonTable(Table):
    """Tendon: a fixed one has joints and coefficients, a spatial one a path."""

    name: Name
    joints: list[Name] | None = None
    coefficients: list[FiniteFloat] | None = None
    offset: FiniteFloat = 0.0
    path: Annotated[list[PathTable], Field(max_length=MAX_SHAPES)] | None = None
    limits: Interval | None = None
    stiffness: FiniteFloat = 0.0
    rest: Interval | None = None
    damping: FiniteFloat = 0.0
    friction: FiniteFloat = 0.0

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.joints is None) == (self.path is None) or (self.joints is None) != (self.coefficients is None):
            raise wrong("a tendon has joints and coefficients, or a path")
        return self

    def build(self) -> Tendon:
        """The tendon."""
        more: dict[str, Any] = {key: getattr(self, key) for key in ("stiffness", "damping", "friction")}
        more |= {key: tuple(x) for key in ("limits", "rest") if (x := getattr(self, key)) is not None}
        if self.path is not None:
            return SpatialTendon(self.name, tuple(part.build() for part in self.path), **more)
        assert self.joints is not None and self.coefficients is not None
        return FixedTendon(self.name, tuple(self.joints), tuple(self.coefficients), self.offset, **more)


class ForceElementTable(Table):
    """Force element of a kind of the registry; its fields are keys."""

    name: Name
    type: str
    own: Annotated[dict[str, Any], Field(default_factory=dict)]

    @model_validator(mode="before")
    @classmethod
    def _moved(cls, given: Any) -> Any:
        return moved(given, "force element", ELEMENTS, frozenset(), {"name", "type"}, {"name", "type"})

    def build(self) -> ForceElement:
        """The element."""
        if self.type not in ELEMENTS:
            raise ModelError(f"there is no force element {self.type!r}: it is one of {', '.join(ELEMENTS)}")
        element: ForceElement = make_part(ELEMENTS[self.type], name=self.name, **self.own)
        return element


_PARTS: Final[dict[str, Mapping[str, Any]]] = {"transmission": TRANSMISSIONS, "activation": ACTIVATIONS}


def _part(given: dict[str, Any], what: str, kinds: Mapping[str, Any]) -> Any:
    """A part of an actuator, whose fields are keys of its table."""
    if given.get("type") not in kinds:
        raise ModelError(f"the type of a {what} is one of {', '.join(kinds)}, not {given.get('type')!r}")
    return make_part(kinds[given["type"]], **moved(given, what, kinds, frozenset(), {"type"}, {"type"})[OWN])


def _tuples(given: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}


# written --------------------------------------------------------------------------------------------------------------


def actuator_extras(actuator: Actuator) -> dict[str, Any]:
    """Keys of what an actuator has beside gains and ranges."""
    table: dict[str, Any] = {}
    for key, kinds in _PARTS.items():
        if (part := getattr(actuator, key)) is not None:
            table[key] = {"type": _name_of(part, key, kinds), **finite_only(part_table(part, {"type"}))}
    if actuator.muscle is not None:
        table["muscle"] = part_table(actuator.muscle, set())
    if any(actuator.gain_slope):
        table["gain_slope"] = actuator.gain_slope
    return table


def finite_only(table: dict[str, Any]) -> dict[str, Any]:
    """Keys whose ranges have ends: what is unlimited is left out."""
    found = {}
    for key, value in table.items():
        numeric = isinstance(value, tuple) and value and all(isinstance(x, float) for x in value)
        if not numeric or np.isfinite(value).all():
            found[key] = value
        elif np.isfinite(value).any():
            raise ModelError(f"{key!r} is infinite on one side, which files do not say")
    return found


def tendon_table(tendon: Tendon, placed: Any) -> dict[str, Any]:
    """Keys of a tendon; ``placed`` writes a pose."""
    table: dict[str, Any] = {"name": tendon.name}
    if isinstance(tendon, FixedTendon):
        table |= {"joints": tendon.over, "coefficients": tendon.coefficients, "offset": tendon.offset}
    elif isinstance(tendon, SpatialTendon):
        table["path"] = [_path(part, placed) for part in tendon.path]
    else:
        raise ModelError(f"tendon {tendon.name!r} is of a kind that no file knows, {type(tendon).__name__}")
    forces = {key: getattr(tendon, key) for key in ("limits", "stiffness", "rest", "damping", "friction")}
    return table | finite_only({key: x for key, x in forces.items() if np.any(x)})


def element_table(element: ForceElement) -> dict[str, Any]:
    """Keys of a force element."""
    kind = _name_of(element, "force element", ELEMENTS)
    return {
        "name": element.name,
        "type": kind,
        **{k: x for k, x in part_table(element, {"type"}).items() if k != "name"},
    }


def _path(part: Via | Wrap | Pulley, placed: Any) -> dict[str, Any]:
    if isinstance(part, Pulley):
        return {"divisor": part.divisor}
    if isinstance(part, Via):
        named: dict[str, Any] = {} if part.place is None else {"through": part.place}
        return named | ({"point": part.point} if part.point.any() or part.place is None else {})
    table: dict[str, Any] = {"around": part.kind, "radius": part.radius}
    table |= {} if part.place is None else {"on": part.place}
    table |= placed(part.placement, "placement of a shape")
    table |= {"inside": True} if part.inside else {}
    return table if part.side is None else table | {"side": _path(part.side, placed)}


def _name_of(part: Any, what: str, kinds: Mapping[str, Any]) -> str:
    name = next((name for name, known in kinds.items() if type(part) is known), None)
    if name is None:
        raise ModelError(
            f"a {what} is of a kind that no file knows, {type(part).__name__}: make it known with KINDS.add"
        )
    return name
