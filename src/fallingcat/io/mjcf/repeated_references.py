"""Tendons, actuators, sensors and contacts of what a ``<replicate>`` copies: one for each copy, as in MuJoCo."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..safe_xml import Element
from .files import Files, FilesReader
from .references import all_below

_SECTIONS: Final = ("contact", "tendon", "equality", "actuator", "sensor")
_KINDS: Final = ("body", "joint", "geom", "site", "tendon", "actuator")
_OTHERS: Final = {"jointinparent": "joint"}


def repeat_references(
    root: Element, replicate: Element, suffixes: Sequence[str], reader: FilesReader, files: Files
) -> None:
    """Put copies, one for each suffix, in the place of every element that refers to something in a ``<replicate>``."""
    inside = {(e.tag.removeprefix("free"), e.get("name")) for e in all_below(replicate) if "name" in e.attributes}
    for tag in _SECTIONS:
        for section in root.all(tag):
            children: list[Element] = []
            for child in section.children:
                if not any(_references(e, inside) for e in (child, *all_below(child))):
                    children.append(child)
                    continue
                if "name" in child.attributes:
                    inside.add((tag, child.get("name")))
                children += [_copy(child, suffix, inside, reader, files) for suffix in suffixes]
            section.children = children


def _references(element: Element, inside: set[tuple[str, str]]) -> list[str]:
    """Attributes that name something inside."""
    return [key for key, name in element.attributes.items() if (_kind(element, key), name) in inside]


def _kind(element: Element, key: str) -> str:
    """Element kind of a reference: ``"site"`` of ``sidesite`` and ``site2``; empty if it refers to nothing."""
    if key in ("objname", "refname"):
        return element.get(key.replace("name", "type")).removeprefix("x")
    key = key.rstrip("12")
    return _OTHERS.get(key, next((kind for kind in _KINDS if key.endswith(kind)), ""))


def _copy(element: Element, suffix: str, inside: set[tuple[str, str]], reader: FilesReader, files: Files) -> Element:
    changed = [*_references(element, inside), *(["name"] if "name" in element.attributes else [])]
    copy = reader.twin(element, element.attributes | {key: element.get(key) + suffix for key in changed})
    copy.children = [_copy(child, suffix, inside, reader, files) for child in element.children]
    for child in copy.children:
        child.parent = copy
    files.count(element)
    return copy
