"""Robots in TOML: short to write by hand for planar and group robots, and able to say everything that a model holds.

.. code-block:: toml

    name = "revolute hopper"
    base = "planar"
    gravity = [0.0, -9.81]

    [[link]]
    name = "thigh"
    points = [{ mass = 0.835, position = [0.0, 0.0] }, { mass = 0.122, position = [0.06, 0.0] }]

    [[link]]
    name = "shank"
    mass = 0.05
    center = [0.06, 0.0]

    [[joint]]
    name = "knee"
    type = "revolute"
    parent = "thigh"
    child = "shank"
    position = [0.12, 0.0]

    [[frame]]
    name = "foot"
    link = "shank"
    position = [0.12, 0.0]

Points of the plane have two numbers.  A body without inertia is a point mass, as in [Feurstein] Table 4.3: inertias
need not be positive definite here, only possible.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np
from pydantic import ValidationError

from ...errors import FallingCatError
from ...lie import SE2
from ...model import Actuator, Body, Frame, Joint, Limits, Link, Model, Passive
from ...model.actuation import Drives, drives
from ...model.body import TRIANGLE_TOLERANCE, sum_bodies
from ...model.model import GRAVITY
from ..assembly import Parts, check_numbers, check_tree, weld_idle
from ..diagnostics import Place, Reader
from ..files import write_text
from ..mimics import MimicRequest, mimicking
from ..names import Names, check_name
from ..physics import check_ratio, warn_of_idle_links
from ..uris import check_uri
from .parts import OWN
from .tables import TABLES, JointTable, LinkTable, RobotTable, SymbolsTable, nearest_word_hint
from .text import decoded, parsed
from .values import UNIT_TOLERANCE
from .writer import document

MAX_ERRORS: Final = 20  # said in one message
NAMED: Final = ("link", "joint", "frame", "actuator", "loop", "keyframe", "tendon", "force_element")
"""Tables of which a file may have several, each with a name."""
_HEADER: Final = re.compile(rf"^[ \t]*\[\[[ \t]*[\"']?({'|'.join(NAMED)})[\"']?[ \t]*\]\]", re.MULTILINE)


class Complaint(NamedTuple):
    """One broken rule, and where."""

    place: Place
    rule: str


def read_toml(data: bytes, reader: Reader) -> Model:
    r"""Model in the bytes of a TOML file.

    Example:
        >>> brick = b"base = 'free'\nlink = [{ name = 'brick', mass = 1, inertia = [0.1, 0.1, 0.1] }]"
        >>> read_toml(brick, Reader("b.toml"))
        <Model 'robot': base SE(3), 1 links, 0 joint dof, 1 kg>
        >>> read_toml(b"base = 'fre'\nlink = [{ name = 'brick', mas = 1.0 }]", Reader("b.toml"))
        Traceback (most recent call last):
        fallingcat.errors.FileError: b.toml: base: there is no base 'fre'; do you mean 'free'?; [[link]] 'brick': there
        is no key 'mas'; do you mean 'mass'?
    """
    robot, places = _tables(data, reader)
    return _build(robot, places, reader)


def read_symbols(data: bytes, reader: Reader) -> SymbolsTable:
    r"""Table ``[symbols]`` in the bytes of a TOML file: what it leaves out is as in a file without one.

    Example:
        >>> read_symbols(b"base = 'free'\nsymbols.names.m = 'm_0'\nlink = [{ name = 'brick' }]", Reader("b.toml")).names
        {'m': ['m_0']}
    """
    return _tables(data, reader)[0].symbols


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model to a TOML file: every number survives to the last digit, axes to the last but one."""
    write_text(path, document(model, path))


# text to tables -----------------------------------------------------------------------------------------------------


def _tables(data: bytes, reader: Reader) -> tuple[RobotTable, _Places]:
    text = decoded(data, reader)
    raw = parsed(text, reader)
    places = _Places(text, raw)
    try:
        return RobotTable.model_validate(raw), places
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False)
        _fail(reader, [_complaint(problem, places) for problem in problems[:MAX_ERRORS]], more=error.error_count())


class _Places:
    """First lines of the tables: the parser keeps no lines, but ``[[joint]]`` headers are easy to find again."""

    def __init__(self, text: str, raw: dict[str, Any]) -> None:
        self.raw = raw
        self.lines = {key: list[int]() for key in NAMED}
        line, end = 1, 0
        for header in _HEADER.finditer(text):
            line, end = line + text.count("\n", end, header.start()), header.start()
            self.lines[header[1]].append(line)

    def of(self, key: str, index: int) -> Place:
        """The ``index``-th table ``[[key]]``."""
        tables = self.raw.get(key)
        count = len(tables) if isinstance(tables, list) else 0
        line = self.lines[key][index] if len(self.lines.get(key, [])) == count > index else None
        table = tables[index] if isinstance(tables, list) and index < count else None
        name = table.get("name") if isinstance(table, dict) else None
        return Place(line, f"[[{key}]] {name!r}" if isinstance(name, str) else f"[[{key}]] number {index + 1}")


def _complaint(problem: Any, places: _Places) -> Complaint:
    """One of pydantic's errors in our words: the table, the key inside it, the rule."""
    loc = tuple(problem["loc"])
    place, inside = Place(), loc
    if len(loc) >= 2 and loc[0] in places.lines and isinstance(loc[1], int):
        place, inside = places.of(loc[0], loc[1]), loc[2:]
    kind, text = problem["type"], problem["msg"]
    if kind == "extra_forbidden":
        keys = tuple(key for key in loc[:-1] if isinstance(key, str))
        known = [key for key in TABLES[keys].model_fields if key != OWN] if keys in TABLES else []
        inside, text = inside[:-1], f"there is no key {str(loc[-1])!r}{nearest_word_hint(str(loc[-1]), known)}"
    elif kind == "missing":
        inside, text = inside[:-1], f"{str(loc[-1])!r} is missing"
    elif kind != "robot":
        text = text.replace("Input should be", "should be").replace("a valid ", "a ")
        if isinstance(problem["input"], (str, bool, int, float)):
            text += f", not {_quoted_value(problem['input'])}"
    where = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in inside if key != "group").lstrip(".")
    return Complaint(place, f"{where}: {text}" if where else text)


def _quoted_value(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # an integer too long to print
        text = "a huge integer"
    return text if len(text) <= 40 else text[:37] + "..."


def _fail(reader: Reader, complaints: Sequence[Complaint], hint: str | None = None, more: int = 0) -> NoReturn:
    """All complaints in one error, in the order of the file; ``more`` is their number where not all are given."""
    first, *others = complaints[:MAX_ERRORS]
    said = [first.rule]
    last = first.place
    for place, rule in others:
        label = place.label if place != last else ""
        line = f"line {place.line}: " if label and place.line is not None else ""
        said.append(f"{line}{label}: {rule}" if label else rule)
        last = place
    if (rest := max(more, len(complaints)) - len(said)) > 0:
        said.append(f"and {rest:,} more")
    reader.fail(first.place, "; ".join(said), hint)


# tables to a model --------------------------------------------------------------------------------------------------


def _build(robot: RobotTable, places: _Places, reader: Reader) -> Model:
    check_name(reader, None, "robot", robot.name)
    names = {key: Names(key, reader) for key in NAMED}
    for key in names:
        for i, table in enumerate(getattr(robot, key)):
            names[key].add(table.name, places.of(key, i))
    _check_references(robot, names, places, reader)
    base = reader.options.base if reader.options.base is not None else robot.base.build()
    gravity: Any = (0.0, GRAVITY[2], 0.0) if isinstance(base, SE2) else GRAVITY
    gravity = robot.gravity if robot.gravity is not None else gravity
    built = [_joint(table, places.of("joint", i), reader) for i, table in enumerate(robot.joint)]
    joints, couples = mimicking(built, _mimics(robot, places), reader)
    parts = Parts(
        name=robot.name,
        base=base,
        links=[_link(table, places.of("link", i), reader) for i, table in enumerate(robot.link)],
        joints=joints,
        link_places=names["link"].places,
        joint_places=names["joint"].places,
        frames=[Frame(table.name, table.link, table.placement()) for table in robot.frame],
        gravity=np.array(gravity) if reader.options.gravity is None else reader.options.gravity,
        actuators=_actuators(robot, places, reader),
        driven=_read_drives(robot, joints, reader),
        contact_exclusions=[(first, second) for first, second in robot.contact_exclusions],
        ground=None if robot.ground is None else robot.ground.build(),
        start=None if robot.start is None else robot.start.build(),
        named_states=[table.build() for table in robot.keyframe],
        force_elements=_forces(robot, "force_element", names, places, reader),
        tendons=_forces(robot, "tendon", names, places, reader),
    )
    check_numbers(parts, reader)
    check_tree(parts, reader)
    model, merged = weld_idle(parts.model(), parts, reader)
    _check_bodies(model, parts, reader)
    warn_of_idle_links(merged, parts.link_places, reader)
    masses = [(link.body.mass, link.name) for link in merged.links if link.body.mass > 0.0]
    check_ratio(masses, parts.link_places, reader)
    model = merged if reader.options.fixed == "merge" else model
    if reader.options.loops == "open":
        return model
    return model.close_loops(*(table.build() for table in robot.loop), *couples)


def _link(table: LinkTable, place: Place, reader: Reader) -> Link:
    for shape in (*table.visual, *table.collision):
        if shape.path is not None:
            check_uri(reader, place, shape.path)
    folder = os.path.dirname(os.path.abspath(reader.file))
    visuals, collisions = (tuple(s.build(folder) for s in each) for each in (table.visual, table.collision))
    return Link(table.name, _body(table), visuals, collisions)


def _body(table: LinkTable) -> Body:
    if table.points is not None:
        return sum_bodies(_point(p.mass, p.position, p.inertia) for p in table.points)
    return Body() if table.mass is None else _point(table.mass, table.center, table.inertia)


def _point(mass: float, center: Any, inertia: Any) -> Body:
    """A body, a point where no inertia is given."""
    return Body(mass, np.zeros(3) if center is None else center, np.zeros((3, 3)) if inertia is None else inertia)


def _joint(table: JointTable, place: Place, reader: Reader) -> Joint:
    for key in ("axis", "axis2"):
        axis = getattr(table, key)
        if axis is not None and abs(length := float(np.linalg.norm(axis))) and abs(length - 1.0) > UNIT_TOLERANCE:
            reader.warn(place, f"the {key} has length {length:.6g} and was brought to 1")
    limits = Limits(**table.limits.model_dump(exclude_none=True)) if table.limits is not None else Limits()
    offset = np.eye(4) if table.offset is None else table.offset.placement()
    armature, passive = table.armature or 0.0, Passive(**table.passive.model_dump())
    try:
        H = table.placement()
        return Joint(table.name, table.build(), table.parent, table.child, H, offset, limits, armature, passive)
    except (FallingCatError, ValueError) as error:
        reader.fail(place, str(error))


def _mimics(robot: RobotTable, places: _Places) -> dict[str, MimicRequest]:
    """Followed joint of each joint that follows one."""
    found = {}
    for i, table in enumerate(robot.joint):
        if (mimic := table.mimic) is not None:
            found[table.name] = MimicRequest(mimic.joint, mimic.ratio, mimic.offset, places.of("joint", i))
    return found


def _actuators(robot: RobotTable, places: _Places, reader: Reader) -> list[Actuator]:
    sizes, found = {joint.name: joint.build().nv for joint in robot.joint}, []
    for i, table in enumerate(robot.actuator):
        place = places.of("actuator", i)
        if table.joint is not None and sizes.get(table.joint) != 1:
            why = "has not one degree of freedom" if table.joint in sizes else "does not exist"
            reader.fail(place, f"it drives the joint {table.joint!r}, which {why}")
        try:
            found.append(table.build())
        except FallingCatError as error:
            reader.fail(place, str(error))
    return found


def _forces(robot: RobotTable, key: str, names: dict[str, Names], places: _Places, reader: Reader) -> list[Any]:
    """Tendons or force elements; what they name exists."""
    sizes = {joint.name: joint.build().nv for joint in robot.joint}
    found: list[Any] = []
    for i, table in enumerate(getattr(robot, key)):
        place = places.of(key, i)
        try:
            found.append(table.build())
        except FallingCatError as error:
            reader.fail(place, str(error))
        for link in found[-1].places:
            if link not in names["link"] and link not in names["frame"]:
                reader.fail(place, _no_link("the link", link, list(names["link"].places)[:1000]))
        for joint in getattr(found[-1], "joints", ()):
            if sizes.get(joint) != 1:
                why = "has not one degree of freedom" if joint in sizes else "does not exist"
                reader.fail(place, f"it goes over the joint {joint!r}, which {why}")
    return found


def _read_drives(robot: RobotTable, joints: Sequence[Joint], reader: Reader) -> Drives | None:
    try:
        return drives(robot.driven, joints)
    except FallingCatError as error:
        reader.fail(Place(None, "driven"), str(error))


def _check_references(robot: RobotTable, names: dict[str, Names], places: _Places, reader: Reader) -> None:
    """Every link that is mentioned exists, and no frame takes a link's name; all complaints at once."""
    links, frames = names["link"], names["frame"]
    known = list(links.places)[:1000]  # to guess from
    complaints: list[Complaint] = []
    for i, joint in enumerate(robot.joint):
        for side in ("parent", "child"):
            link = getattr(joint, side)
            if link not in links:
                near = known if len(complaints) < MAX_ERRORS else []
                complaints.append(Complaint(places.of("joint", i), _no_link(f"the {side} link", link, near)))
    for i, frame in enumerate(robot.frame):
        if frame.link not in links:
            near = known if len(complaints) < MAX_ERRORS else []
            complaints.append(Complaint(places.of("frame", i), _no_link("the link", frame.link, near)))
        if frame.name in links:
            complaints.append(Complaint(places.of("frame", i), "a frame has the name of a link"))
    for i, loop in enumerate(robot.loop):
        for side, name in loop.places.items():
            if name not in links and name not in frames:
                near = known if len(complaints) < MAX_ERRORS else []
                complaints.append(Complaint(places.of("loop", i), _no_link(f"the {side} link", name, near)))
    complaints += _keyframe_complaints(robot, places)
    strange = dict.fromkeys(name for pair in robot.contact_exclusions for name in pair if name not in links)
    complaints += [Complaint(Place(None, "contact_exclusions"), _no_link("the link", name, known)) for name in strange]
    if complaints:
        _fail(reader, complaints)


def _keyframe_complaints(robot: RobotTable, places: _Places) -> list[Complaint]:
    """Complaints of keyframes: the joints that they name exist, with as many numbers."""
    kinds = {table.name: table.build() for table in robot.joint}
    tables: list[Any] = [] if robot.start is None else [(Place(None, "start"), robot.start, {})]
    tables += [(places.of("keyframe", i), table, table.rates) for i, table in enumerate(robot.keyframe)]
    found = []
    for place, table, rates in tables:
        for key, numbers, what in [*((*x, "nq") for x in table.joints.items()), *((*x, "nv") for x in rates.items())]:
            if key not in kinds:
                found.append(Complaint(place, _no_link("the joint", key, list(kinds)[:1000])))
            elif len(numbers) != getattr(kinds[key], what):
                found.append(Complaint(place, f"joint {key!r} has {getattr(kinds[key], what)} numbers"))
    return found


def _no_link(what: str, name: str, known: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1)
    return f"{what} {name!r} does not exist" + (f"; do you mean {near[0]!r}?" if near else "")


# physics ------------------------------------------------------------------------------------------------------------


def _check_bodies(model: Model, parts: Parts, reader: Reader) -> None:
    """No body that cannot exist; point masses, rods and plates are welcome."""
    complaints = []
    for link in model.links:
        place = parts.link_places[link.name]
        assert isinstance(place, Place)
        complaints += [Complaint(place, problem) for problem in _impossible(link.body)]
    if complaints and reader.options.physics == "strict":
        _fail(reader, complaints, 'repair the file, or load it as it is with physics="warn"')
    for place, rule in complaints:
        reader.warn(place, rule)


def _impossible(body: Body) -> list[str]:
    """As :meth:`Body.problems`, but moments may vanish: the bodies of the tables in [Feurstein] are points."""
    if body.mass == 0.0:
        return ["there is an inertia without a mass"] if body.inertia.any() else []
    low, mid, high = body.principal_inertia
    if high > 0.0 and low >= -TRIANGLE_TOLERANCE * high and high <= (low + mid) + TRIANGLE_TOLERANCE * high:
        return []
    return body.problems() if body.inertia.any() else []
