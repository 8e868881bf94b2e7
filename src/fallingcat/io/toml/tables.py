"""The tables of a TOML robot, as pydantic checks them; what they mean is said in :mod:`fallingcat.io.toml.reader`."""

# ruff: noqa: RUF012 (pydantic copies defaults)
from __future__ import annotations

from typing import Annotated, Any, Final, Self

import numpy as np
from pydantic import BeforeValidator, Field, FiniteFloat, model_validator

from ..._deprecated import former_name
from ...lie import Group
from ...model import Couple, Loop, Pin, Rolling, Shape, Weld
from ...model.joints import KINDS, LIBRARY, JointKind, Reversed
from ...model.loops import KINDS as LOOP_KINDS
from ...model.shapes import KINDS as SHAPES
from ...model.surface import DIMENSIONS, Surface
from ..base_names import BASES
from ..limits import MAX_ATTRIBUTE, MAX_LINKS, MAX_NAME, MAX_PAIRS, MAX_SHAPES
from .force_tables import ActuatorTable, ForceElementTable, TendonTable
from .parts import OWN, make_part, moved
from .placed import KeyframeTable, PlacementTable, StartTable, Table
from .values import (
    Armature,
    Axis,
    Gravity,
    Inertia,
    Length,
    Mass,
    Name,
    Names,
    Pitch,
    Point,
    numbers,
    wrong,
)

FOREIGN_JOINT_NAMES: Final = {
    "floating": "free",
    "ball": "spherical",
    "hinge": "revolute",
    "slide": "prismatic",
    "weld": "fixed",
}
"""Names of other formats for joints of this one."""
LIBRARY_JOINTS: Final = frozenset(kind.name for kind in LIBRARY)


class BaseTable(Table):
    """The group in which the base link moves."""

    group: str
    axis: Axis | None = None
    pitch: Pitch | None = None

    @model_validator(mode="after")
    def _known(self) -> Self:
        if self.group not in BASES:
            raise wrong(f"there is no base {self.group!r}{nearest_word_hint(self.group, BASES)}")
        _check_keys(self, f"a base {self.group!r}", set(BASES[self.group].__dataclass_fields__), {"axis", "pitch"})  # type: ignore[attr-defined]
        return self

    def build(self) -> Group:
        """The group."""
        return BASES[self.group](**_given_fields(self, "axis", "pitch"))


class PointTable(Table):
    """One row of [Feurstein] Table 4.3: a mass, where it is, and its inertia about its own center."""

    mass: Mass
    position: Point
    inertia: Inertia | None = None


class SurfaceTable(Table):
    """Contact parameters of a shape or of the ground."""

    friction: Annotated[FiniteFloat, Field(ge=0.0)] = 1.0
    dimensions: int = 3
    priority: int = 0
    margin: Annotated[FiniteFloat, Field(ge=0.0)] = 0.0
    name: Annotated[str, Field(max_length=MAX_ATTRIBUTE)] = ""
    pairs: Annotated[dict[str, SurfaceTable], Field(max_length=MAX_SHAPES)] = {}
    paired_only: bool = False

    @model_validator(mode="after")
    def _known(self) -> Self:
        if self.dimensions not in DIMENSIONS:
            raise wrong("the dimensions of a contact force are 1, 3, 4 or 6")
        return self

    def build(self) -> Surface:
        """The surface, with those of its pairs."""
        pairs = tuple((name, table.build()) for name, table in self.pairs.items())
        return Surface(self.friction, self.dimensions, self.priority, self.margin, self.name, pairs, self.paired_only)


class ShapeTable(PlacementTable):
    """Shape of a link, drawn or touching."""

    type: str
    color: Annotated[list[Annotated[FiniteFloat, Field(ge=0.0, le=1.0)]], numbers("a color", 4)] | None = None
    radius: Length | None = None
    radii: Annotated[list[Length], numbers("radii", 3)] | None = None
    length: Length | None = None
    size: Annotated[list[Length], numbers("a size", 3)] | None = None
    path: Annotated[str, Field(min_length=1, max_length=MAX_ATTRIBUTE)] | None = None
    scale: Annotated[list[FiniteFloat], numbers("a scale", 3)] | None = None
    surface: SurfaceTable | None = None

    @model_validator(mode="after")
    def _known(self) -> Self:
        if self.type not in SHAPES:
            raise wrong(f"there is no shape {self.type!r}{nearest_word_hint(self.type, SHAPES)}")
        own = SHAPES[self.type].sizes or ("path", "scale")
        for key in ("radius", "radii", "length", "size", "path", "scale"):
            given = getattr(self, key) is not None
            if given and key not in own:
                raise wrong(f"a shape of type {self.type!r} has no {key}")
            if not given and key in own and key != "scale":
                raise wrong(f"{key!r} is missing")
        if self.scale is not None and 0.0 in self.scale:
            raise wrong("no number of a scale is zero")
        return self

    def build(self, folder: str) -> Shape:
        """The shape; paths are seen from ``folder``."""
        more: dict[str, Any] = {"folder": folder} if self.type == "mesh" else {}
        more |= _given_fields(self, "radius", "radii", "length", "size", "path", "scale", "color")
        surface = None if self.surface is None else self.surface.build()
        return SHAPES[self.type](placement=self.placement(), surface=surface, **more)


class LinkTable(Table):
    """A link: massless, or one body, or a list of point masses; and its shapes."""

    name: Name
    mass: Mass | None = None
    center: Point | None = None
    inertia: Inertia | None = None
    points: list[PointTable] | None = None
    visual: Annotated[list[ShapeTable], Field(max_length=MAX_SHAPES)] = []
    collision: Annotated[list[ShapeTable], Field(max_length=MAX_SHAPES)] = []

    @model_validator(mode="after")
    def _one_body(self) -> Self:
        whole = [key for key in ("mass", "center", "inertia") if getattr(self, key) is not None]
        if self.points is not None and whole:
            raise wrong(f"a link is given by its points or by its {', '.join(whole)}, not by both")
        if whole and self.mass is None:
            raise wrong("the mass is missing")
        return self


class LimitsTable(Table):
    """Limits of a joint; infinite by default."""

    lower: FiniteFloat | None = None
    upper: FiniteFloat | None = None
    velocity: Annotated[FiniteFloat, Field(ge=0.0)] | None = None
    effort: Annotated[FiniteFloat, Field(ge=0.0)] | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            raise wrong(f"the lower limit {self.lower:g} lies above the upper limit {self.upper:g}")
        return self


class PassiveTable(Table):
    """Passive forces on a joint; none by default."""

    damping: Annotated[FiniteFloat, Field(ge=0.0)] = 0.0
    friction: Annotated[FiniteFloat, Field(ge=0.0)] = 0.0
    stiffness: Annotated[FiniteFloat, Field(ge=0.0)] = 0.0
    rest: FiniteFloat = 0.0


class MimicTable(Table):
    """Joint that follows another: its coordinate is ``ratio`` times that of ``joint``, and ``offset``."""

    joint: Name
    ratio: FiniteFloat = 1.0
    offset: FiniteFloat = 0.0


class JointTable(PlacementTable):
    """A joint: its type with what the type needs, the links that it joins, where it sits."""

    name: Name
    type: str
    parent: Name
    child: Name
    axis: Axis | None = None
    axis2: Axis | None = None
    pitch: Pitch | None = None
    reversed: bool = False
    offset: PlacementTable | None = None
    limits: LimitsTable | None = None
    armature: Armature | None = None
    passive: PassiveTable = PassiveTable()
    mimic: MimicTable | None = None
    own: dict[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def _moved(cls, given: Any) -> Any:
        keys = set(cls.model_fields) - {OWN}
        return moved(given, "joint", KINDS, LIBRARY_JOINTS, keys, keys - {"axis", "axis2", "pitch"})

    @model_validator(mode="after")
    def _known(self) -> Self:
        if self.type not in KINDS:
            raise wrong(f"there is no joint type {self.type!r}{nearest_word_hint(self.type, KINDS)}")
        if self.type not in LIBRARY_JOINTS:
            return self
        fields = set(KINDS[self.type].__dataclass_fields__)  # type: ignore[attr-defined]
        _check_keys(self, f"a joint of type {self.type!r}", fields, {"axis", "axis2", "pitch"})
        if self.axis and self.axis2:
            both = np.linalg.norm(self.axis) * np.linalg.norm(self.axis2)
            if np.linalg.norm(np.cross(self.axis, self.axis2)) < 1e-9 * both:
                raise wrong("the two axes of a universal joint are parallel: use a revolute joint")
        return self

    def build(self) -> JointKind:
        """The kind of joint."""
        kind: JointKind = make_part(KINDS[self.type], **_given_fields(self, "axis", "axis2", "pitch"), **self.own)
        return Reversed(kind) if self.reversed else kind


class FrameTable(PlacementTable):
    """A frame fixed to a link."""

    name: Name
    link: Name


LOOPS: Final[dict[str, tuple[str, ...]]] = {
    "pin": ("first", "second", "first_point", "second_point"),
    "weld": ("first", "second", "position", "angle", "rpy", "quaternion", "rotation"),
    "couple": ("joint", "other", "coefficients"),
    "rolling": ("place", "radius", "normal", "height"),
}
"""The types of loops, and the keys of each; the first is required."""


class LoopTable(PlacementTable):
    """Loop closure: two points pinned, two frames welded, two joints coupled, a ball that rolls."""

    name: Name
    type: str
    first: Name | None = None
    second: Name | None = None
    first_point: Point | None = None
    second_point: Point | None = None
    joint: Name | None = None
    other: Name | None = None
    coefficients: Annotated[list[FiniteFloat], Field(min_length=1)] | None = None
    place: Name | None = None
    radius: FiniteFloat | None = None
    normal: Point | None = None
    height: FiniteFloat | None = None
    own: dict[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def _moved(cls, given: Any) -> Any:
        return moved(given, "loop", LOOP_KINDS, frozenset(LOOPS), set(cls.model_fields) - {OWN}, {"name", "type"})

    @model_validator(mode="after")
    def _known(self) -> Self:
        if self.type not in LOOP_KINDS:
            raise wrong(f"there is no loop type {self.type!r}{nearest_word_hint(self.type, LOOP_KINDS)}")
        if self.type not in LOOPS:
            return self
        required, *_ = keys = LOOPS[self.type]
        for key in sorted(self.model_fields_set - {"name", "type", *keys}):
            raise wrong(f"a loop of type {self.type!r} has no {key}")
        for key in (required, "radius") if self.type == "rolling" else (required,):
            if getattr(self, key) is None:
                raise wrong(f"{key!r} is missing")
        return self

    @property
    def places(self) -> dict[str, str]:
        """The links or frames that are named, by key."""
        return _given_fields(self, "first", "second", "place")

    def build(self) -> Loop:
        """The loop."""
        if self.type not in LOOPS:
            loop: Loop = make_part(LOOP_KINDS[self.type], name=self.name, **self.own)
            return loop
        if self.type == "couple":
            return Couple(self.name, **_given_fields(self, "joint", "other", "coefficients"))
        if self.type == "weld":
            return Weld(self.name, **_given_fields(self, "first", "second"), placement=self.placement())
        if self.type == "rolling":
            return Rolling(self.name, **_given_fields(self, *LOOPS["rolling"]))
        return Pin(self.name, **_given_fields(self, *LOOPS["pin"]))


class SymbolsTable(Table):
    """Parameters that are symbols in closed forms, and their names; see :func:`fallingcat.symbolic.load`."""

    parameters: Names = ["all"]
    names: dict[Name, Names] = {}


class RobotTable(Table):
    """The whole file."""

    name: Annotated[str, Field(max_length=MAX_NAME)] = "robot"
    base: Annotated[BaseTable, BeforeValidator(lambda given: {"group": given} if isinstance(given, str) else given)]
    gravity: Gravity | None = None
    driven: Annotated[list[Any], Field(max_length=MAX_LINKS)] | None = None
    contact_exclusions: Annotated[
        list[Annotated[list[str], Field(min_length=2, max_length=2)]], Field(max_length=MAX_PAIRS)
    ] = []
    ground: SurfaceTable | None = None
    link: Annotated[list[LinkTable], Field(min_length=1, max_length=MAX_LINKS)]
    joint: Annotated[list[JointTable], Field(max_length=MAX_LINKS)] = []
    frame: Annotated[list[FrameTable], Field(max_length=MAX_SHAPES)] = []
    actuator: Annotated[list[ActuatorTable], Field(max_length=MAX_LINKS)] = []
    tendon: Annotated[list[TendonTable], Field(max_length=MAX_LINKS)] = []
    force_element: Annotated[list[ForceElementTable], Field(max_length=MAX_LINKS)] = []
    loop: Annotated[list[LoopTable], Field(max_length=MAX_LINKS)] = []
    keyframe: Annotated[list[KeyframeTable], Field(max_length=MAX_LINKS)] = []
    start: StartTable | None = None
    symbols: SymbolsTable = SymbolsTable()

    @model_validator(mode="before")
    @classmethod
    def _former(cls, given: Any) -> Any:
        if isinstance(given, dict) and "apart" in given and "contact_exclusions" not in given:
            former_name("apart of a robot file", "contact_exclusions")
            return {"contact_exclusions" if key == "apart" else key: value for key, value in given.items()}
        return given


TABLES: Final[dict[tuple[str, ...], type[Table]]] = {
    (): RobotTable,
    ("base",): BaseTable,
    ("link",): LinkTable,
    ("link", "points"): PointTable,
    ("link", "visual"): ShapeTable,
    ("link", "collision"): ShapeTable,
    ("joint",): JointTable,
    ("joint", "offset"): PlacementTable,
    ("joint", "limits"): LimitsTable,
    ("joint", "passive"): PassiveTable,
    ("joint", "mimic"): MimicTable,
    ("frame",): FrameTable,
    ("actuator",): ActuatorTable,
    ("tendon",): TendonTable,
    ("force_element",): ForceElementTable,
    ("loop",): LoopTable,
    ("keyframe",): KeyframeTable,
    ("start",): StartTable,
    ("symbols",): SymbolsTable,
}
"""Type of table at each path of keys."""


def nearest_word_hint(word: str, words: Any) -> str:
    """`; do you mean ...?`, if one of ``words`` is near, else the list of them."""
    from difflib import get_close_matches

    near = get_close_matches(word, list(words), n=1)
    if not near and FOREIGN_JOINT_NAMES.get(word) in words:
        near = [FOREIGN_JOINT_NAMES[word]]
    return f"; do you mean {near[0]!r}?" if near else f": it is one of {', '.join(words)}"


def _given_fields(table: Table, *keys: str) -> dict[str, Any]:
    return {key: getattr(table, key) for key in keys if getattr(table, key) is not None}


def _check_keys(table: Table, what: str, taken: set[str], possible: set[str]) -> None:
    """Check that keys of some types only are there exactly when this one takes them (an axis defaults to z)."""
    for key in sorted(possible - taken):
        if getattr(table, key, None) is not None:
            raise wrong(f"{what} has no {key}")
    if "pitch" in taken and not getattr(table, "pitch", None):
        raise wrong(f"{what} has a pitch (m/rad) that is not zero")
