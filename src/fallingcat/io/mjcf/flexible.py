"""Bodies that bend: refused by name, or left out where ``faults="warn"`` asks for it."""

from __future__ import annotations

from typing import Final

from ..diagnostics import Reader
from ..safe_xml import Element

FLEXIBLE: Final = {"flexcomp", "composite", "flex"}


def without_flexible(root: Element, reader: Reader) -> None:
    """Take out of the tree what makes flexible bodies; an error unless the caller wants that."""
    stack = [section for section in root if section.tag in ("worldbody", "deformable")]
    while stack:
        element = stack.pop()
        for child in element.children:
            if child.tag in FLEXIBLE:
                reader.fault(child, f"a <{child.tag}> makes a body that bends, and is not read", "it is left out")
        element.children = [child for child in element.children if child.tag not in FLEXIBLE]
        stack.extend(element.children)
