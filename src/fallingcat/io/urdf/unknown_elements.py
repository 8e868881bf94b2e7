"""Unknown elements of a URDF: a misspelt tag would lose a mass without a word, so each is mentioned."""

from __future__ import annotations

from collections import Counter
from typing import Final

from ..diagnostics import Reader
from ..limits import MAX_WARNINGS
from ..safe_xml import Element

_KNOWN_CHILDREN: Final[dict[str, frozenset[str]]] = {
    tag: frozenset(children.split())
    for tag, children in {
        "robot": "link joint material transmission gazebo sensor group_state ros2_control mujoco",
        "link": "inertial visual collision contact sensor gazebo self_collision_checking",
        "inertial": "origin mass inertia",
        "visual": "origin geometry material",
        "collision": "origin geometry material contact verbose contact_coefficients",
        "joint": "origin parent child axis limit mimic dynamics safety_controller calibration gazebo",
        "origin": "",
        "mass": "",
        "inertia": "",
        "parent": "",
        "child": "",
        "axis": "",
        "limit": "",
        "mimic": "",
    }.items()
}
_ATTRIBUTES: Final[dict[str, frozenset[str]]] = {
    tag: frozenset(names.split())
    for tag, names in {
        "robot": "name version",
        "link": "name type",
        "origin": "xyz rpy quat_xyzw",
        "mass": "value",
        "inertia": "ixx iyy izz ixy ixz iyz",
        "joint": "name type dont_collapse",
        "parent": "link",
        "child": "link",
        "axis": "xyz",
        "limit": "lower upper effort velocity acceleration deceleration jerk",
        "mimic": "joint multiplier offset",
    }.items()
}
_UNUSED_REASONS: Final = {
    "transmission": "drives are not modelled",
    "ros2_control": "drives are not modelled",
    "gazebo": "settings of a simulator",
    "mujoco": "settings of a simulator",
    "sensor": "sensors are not modelled",
    "safety_controller": "soft limits belong to a controller",
    "calibration": "switches are not modelled",
}
_MEANINGLESS_IF_FIXED: Final = ("axis", "limit", "dynamics", "safety_controller", "calibration")


class Strays:
    """Counts unknown elements, attributes and text; one warning for each kind, at the first place."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.count: Counter[tuple[str, ...]] = Counter()  # by a text and the names in it
        self.first: dict[tuple[str, ...], Element] = {}

    def look_at(self, root: Element) -> None:
        """Walk through everything that the reader reads (not through gazebo's or a transmission's insides)."""
        stack = [root]
        while stack:
            element = stack.pop()
            known = _KNOWN_CHILDREN.get(element.tag)
            if known is None:
                continue
            self._attributes(element)
            for child in element:
                if child.tag in _UNUSED_REASONS and element.tag in ("robot", "link", "joint"):
                    self.reader.ignored[f"<{child.tag}>: {_UNUSED_REASONS[child.tag]}"] += 1
            if element.text:
                self._note(element, "text inside <{}> is ignored", element.tag)
            if element.tag == "joint" and element.get("type") == "fixed":
                for child in element:
                    if child.tag in _MEANINGLESS_IF_FIXED:
                        self._note(child, "<{}> of a fixed joint is ignored", child.tag)
            for child in element:
                if "xacro" in child.tag.partition("}")[0] or child.tag.startswith("xacro:"):
                    self._xacro(child)
                elif child.tag not in known:
                    self._note(child, "<{}> inside <{}> is unknown and ignored", child.tag, element.tag)
            stack.extend(reversed(element.children))

    def report(self) -> None:
        """Turn what was found into warnings."""
        for key, element in self.first.items():
            times, text = self.count[key], key[0].format(*key[1:])
            self.reader.warn(element, text if times == 1 else f"{text} ({times} times in the file)")

    def _xacro(self, element: Element) -> None:
        """Refuse a macro that was not expanded: its links are unknown."""
        if self.reader.options.xacro != "skip" and self.reader.options.faults != "warn":
            hint = 'pass over it with xacro="skip", or expand it with xacro="expand", if you trust the file'
            self.reader.fail(element, "this is xacro, not URDF", hint)
        self._note(element, "the macro <{}> was not expanded and is passed over", element.tag)

    def _attributes(self, element: Element) -> None:
        known = _ATTRIBUTES.get(element.tag)
        for name in element.attributes if known is not None else ():
            if known is not None and name not in known and not name.startswith("{"):
                self._note(element, "the attribute {!r} of <{}> is unknown and ignored", name, element.tag)

    def _note(self, element: Element, *key: str) -> None:
        if key not in self.first:
            if len(self.first) > MAX_WARNINGS:  # nobody will be told
                return
            self.first[key] = element
        self.count[key] += 1
