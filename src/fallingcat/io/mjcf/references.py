"""Names and what refers to them; sections that are checked and not kept."""

from __future__ import annotations

import math
from collections import Counter
from typing import Final

from ..diagnostics import Reader
from ..names import Names
from ..numbers import number
from ..safe_xml import Element
from ..uris import check_uri
from .ignored import Tally

MAX_PIXELS: Final = 2**26
"""Largest number of pixels of a texture or a height field; their files are never opened."""

_SAME_TAG: Final = {"freejoint": "joint"}  # kinds that share one set of names; elsewhere the section's own
_IN_BODIES: Final = ("body", "joint", "freejoint", "geom", "site", "camera", "light", "frame")
_SECTIONS: Final = ("tendon", "actuator", "sensor", "equality", "contact", "keyframe")
_REFERENCES: Final = {
    "joint": "joint", "joint1": "joint", "joint2": "joint", "jointinparent": "joint",
    "body": "body", "body1": "body", "body2": "body",
    "geom": "geom", "geom1": "geom", "geom2": "geom",
    "site": "site", "site1": "site", "site2": "site", "refsite": "site", "sidesite": "site",
    "cranksite": "site", "slidersite": "site",
    "tendon": "tendon", "tendon1": "tendon", "tendon2": "tendon",
    "actuator": "actuator", "camera": "camera",
}  # fmt: skip
_OBJECTS: Final = {"body": "body", "xbody": "body", "geom": "geom", "site": "site", "camera": "camera"}


class References:
    """Every name in the file by kind, each once; then everything that refers to one."""

    def __init__(self, root: Element, reader: Reader) -> None:
        self.root, self.reader = root, reader
        self.names: dict[str, Names] = {}
        self._of("body").places["world"] = None
        self._collect()

    def check(self, tally: Tally) -> None:
        """Check that names that are referred to exist; warn of what is not read."""
        for section in ("equality", "tendon", "actuator", "sensor", "contact"):
            for element in self.root.all(section):
                for inner in all_below(element):
                    self._check(inner)
        self._summary(tally)

    def _of(self, kind: str) -> Names:
        return self.names.setdefault(kind, Names(kind, self.reader))

    def _collect(self) -> None:
        for section in self.root:
            for element in all_below(section) if section.tag != "default" else ():
                if "name" not in element.attributes:
                    continue
                if section.tag == "worldbody" and element.tag in _IN_BODIES:
                    kind = _SAME_TAG.get(element.tag, element.tag)
                elif section.tag in _SECTIONS and element.parent is section:
                    kind = section.tag
                elif section.tag == "asset" and element.parent is section:
                    kind = element.tag
                else:
                    continue
                if element.get("name") in self._of(kind):
                    self.reader.fail(element, f"more than one {kind} is called {element.get('name')!r}")
                self._of(kind).add(element.get("name"), element)

    def _check(self, element: Element) -> None:
        wanted = [(_REFERENCES[name], text) for name, text in element.attributes.items() if name in _REFERENCES]
        for name, kind in (("objname", "objtype"), ("refname", "reftype")):
            if element.get(kind) in _OBJECTS and name in element.attributes:
                wanted.append((_OBJECTS[element.get(kind)], element.get(name)))
        for kind, text in wanted:
            if text not in self._of(kind):
                self.reader.fail(element, f"there is no {kind} {text[:80]!r}, to which the <{element.tag}> refers")

    def _summary(self, tally: Tally) -> None:
        constraints = [element for section in self.root.all("equality") for element in section]
        if constraints and self.reader.options.loops != "close":
            kinds = Counter(element.tag for element in constraints)
            listed = ", ".join(f"<{tag}> ({count})" for tag, count in kinds.items())
            text = f"equalities are not read, the robot is a tree and its joints are independent: {listed}"
            tally.note(f'{text}; load with loops="close" keeps them', constraints[0])
        passed = [name for name in _SECTIONS if name not in ("equality", "keyframe", "tendon", "actuator", "contact")]
        counts = {name: sum(1 for s in self.root.all(name) for _ in s) for name in passed}
        listed = ", ".join(f"<{name}> ({count})" for name, count in counts.items() if count)
        if listed:
            self.reader.warn(self.root, f"checked and not kept: {listed}")


def check_assets(root: Element, reader: Reader) -> None:
    """Only meshes are ever opened; sizes that nobody means and addresses that lead elsewhere are refused."""
    for asset in (child for section in root.all("asset") for child in section):
        for rows, columns in (("height", "width"), ("nrow", "ncol")):
            if rows in asset.attributes or columns in asset.attributes:
                _check_size(asset, rows, columns, reader)
        for name, text in asset.attributes.items():
            if name.startswith("file") and text.strip():
                check_uri(reader, asset, text, climbs=True)


def _check_size(asset: Element, rows: str, columns: str, reader: Reader) -> None:
    height, width = (number(reader, asset, name, default=0.0) for name in (rows, columns))
    for name, value in ((rows, height), (columns, width)):
        if value < 0.0 or value != math.floor(value):
            reader.fail(asset, f"{name!r} is a whole number and not negative", f"is {value:g}")
    if max(height, 1.0) * max(width, 1.0) > MAX_PIXELS:
        reader.fail(asset, f"{rows!r} times {columns!r} is at most {MAX_PIXELS:,}", f"{height:g} times {width:g}")


def all_below(top: Element) -> list[Element]:
    """Everything inside an element, as it stands in the file."""
    found: list[Element] = []
    stack = top.children[::-1]
    while stack:
        element = stack.pop()
        found.append(element)
        stack.extend(reversed(element.children))
    return found
