"""``<default>``: attributes that an element has where it says nothing itself."""

from __future__ import annotations

from typing import Final

from ..names import check_name
from ..safe_xml import Element
from .files import FilesReader

ORIENTATIONS: Final = ("quat", "axisangle", "xyaxes", "zaxis", "euler")
"""Five ways to write a rotation; an element uses one."""

_ACTUATORS: Final = ("general", "motor", "position", "velocity", "intvelocity", "orientation", "pid")
_ODD_ACTUATORS: Final = ("damper", "cylinder", "muscle", "adhesion", "dcmotor")

_Class = dict[str, dict[str, str]]  # tag -> attributes


class Defaults:
    """The classes of a file; a class begins as a copy of the one that it stands in.

    Example:
        >>> from fallingcat.io.safe_xml import parse
        >>> text = b"<m><default><geom density='5'/><default class='leg'><geom size='.1 .2'/></default></default></m>"
        >>> reader = FilesReader("r.xml")
        >>> defaults = Defaults(parse(text, reader), reader)
        >>> defaults.applied(parse(b"<geom class='leg' size='.3'/>", reader), "main").attributes
        {'density': '5', 'size': '.3 .2', 'class': 'leg'}
    """

    def __init__(self, root: Element, reader: FilesReader) -> None:
        self.reader = reader
        self.classes: dict[str, _Class] = {"main": {}}
        self.actuators: dict[str, tuple[Element, ...]] = {"main": ()}
        """for each class all that fills in an actuator of it, one after the other"""
        for default in root.all("default"):
            if default.get("class", "main") != "main":
                reader.fail(default, "the outermost default class is 'main'", "nest the class inside a <default>")
            self._read(default)

    def applied(self, element: Element, childclass: str) -> Element:
        """The element with the attributes of its class, or of ``childclass`` where it names none."""
        name = self.named(element, "class", childclass)
        attributes = self.classes[name].get(element.tag, {})
        return self.reader.twin(element, _overridden(attributes, element.attributes)) if attributes else element

    def applied_as(self, element: Element, tag: str) -> Element:
        """The element with the attributes that its class has for ``tag``, of which it is one."""
        attributes = self.classes[self.named(element, "class", "main")].get(tag, {})
        return self.reader.twin(element, _overridden(attributes, element.attributes)) if attributes else element

    def named(self, element: Element, attribute: str, otherwise: str) -> str:
        """The class in an attribute, which must exist."""
        name = element.get(attribute, otherwise)
        if name not in self.classes:
            self.reader.fail(element, f"there is no default class {name[:80]!r}")
        return name

    def _read(self, top: Element) -> None:
        stack = [(top, "main")]
        while stack:
            default, name = stack.pop()
            here = self.classes[name]
            for child in default:  # own attributes first: nested classes copy them, wherever they stand
                if child.tag in ("joint", "geom", "mesh", "material", "site", "tendon", "pair"):
                    here[child.tag] = _overridden(here.get(child.tag, {}), child.attributes)
            self.actuators[name] += tuple(child for child in default if child.tag in (*_ACTUATORS, *_ODD_ACTUATORS))
            stack.extend([(child, self._begin(child, name)) for child in default.all("default")])

    def _begin(self, default: Element, parent: str) -> str:
        name = default.get("class")
        check_name(self.reader, default, "default class", name)
        if name in self.classes:
            self.reader.fail(default, f"two default classes are called {name!r}")
        self.classes[name] = {tag: dict(attributes) for tag, attributes in self.classes[parent].items()}
        self.actuators[name] = self.actuators[parent]
        return name


def _overridden(attributes: dict[str, str], by: dict[str, str]) -> dict[str, str]:
    """``attributes`` with those of ``by`` in their place: orientations replace each other, a size number by number."""
    turned = any(name in by for name in ORIENTATIONS)
    kept = {name: text for name, text in attributes.items() if not (turned and name in ORIENTATIONS)}
    merged = kept | by
    if "size" in kept and "size" in by:
        own = by["size"].split()
        merged["size"] = " ".join(own + kept["size"].split()[len(own) :])
    return merged
