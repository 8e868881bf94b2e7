"""``<attach model="arm" body="base" prefix="left_"/>``: a body of another model, with what it carries, in this one."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ..safe_xml import Element
from .files import Files, FilesReader
from .flexible import without_flexible
from .ignored import Tally
from .references import References, all_below, check_assets
from .replicate import with_copies
from .schema import check_elements
from .source import Source, read_source

ATTACHED: Final = "attached"
"""The tag of an ``<attach>`` that now holds what it attaches; no file has it."""

_UNATTACHED_SECTIONS: Final = {
    "actuator": "actuators",
    "tendon": "tendons",
    "equality": "equalities",
    "contact": "<pair> and <exclude>",
    "keyframe": "keyframes",
}
"""Sections of an attached model that are left out, in words."""

DEFAULT_NAME: Final = "MuJoCo Model"
"""Name of a model whose file does not say it."""


class Models:
    """A model and those that it attaches, each with a source of its own."""

    def __init__(self, files: Files, reader: FilesReader, tally: Tally) -> None:
        self.files, self.reader, self.tally = files, reader, tally
        self.sources: dict[int, Source] = {}
        """By the identity of an attached element: what holds for all that stands in it."""

    def read(self, root: Element, folder: Path, depth: int = 0) -> Source:
        """Check a model and put into each ``<attach>`` what it attaches; the model's source."""
        reader = self.reader
        with_copies(root, reader, self.files)
        without_flexible(root, reader)
        check_elements(root, reader)
        source = read_source(root, folder, reader, self.tally)
        wanted = [e for world in root.all("worldbody") for e in all_below(world) if e.tag == "attach"]
        assets = [e for asset in root.all("asset") for e in asset.all("model")]
        named = {e.get("name"): e for e in assets if "name" in e.attributes}
        loaded: dict[str, tuple[Element, Source]] = {"": (root, source)}
        if any(element.get("model") not in {"", *named} for element in wanted):  # a model may have its file's name
            for asset in (e for e in assets if "name" not in e.attributes):
                found = self._load(asset, folder, depth + 1)
                loaded[found[0].get("model", DEFAULT_NAME)] = found
        for element in wanted:
            name = element.get("model")
            if name not in named and name not in loaded:
                reader.fail(element, f"there is no model {name[:80]!r} to attach", "an <asset> has it as <model>")
            if name not in loaded:
                loaded[name] = self._load(named[name], folder, depth + 1)
            self._attach(element, *loaded[name])
        check_assets(root, reader)
        return source

    def _load(self, asset: Element, folder: Path, depth: int) -> tuple[Element, Source]:
        root, path = self.files.model(asset, folder, depth)
        source = self.read(root, path.parent, depth)
        References(root, self.reader).check(self.tally)
        for tag, words in _UNATTACHED_SECTIONS.items():
            for element in (child for section in root.all(tag) for child in section):
                self.tally.note(f"the {words} of an attached model are not read", element)
        return root, source

    def _attach(self, element: Element, root: Element, source: Source) -> None:
        worlds = root.all("worldbody")
        found = [child for world in worlds for child in world]
        if "body" in element.attributes:
            name = element.get("body")
            bodies = [e for world in worlds for e in all_below(world) if e.tag == "body" and e.get("name") == name]
            if not bodies:
                self.reader.fail(element, f"the model {element.get('model')[:80]!r} has no body {name[:80]!r}")
            if bodies[0].parent is not None and bodies[0].parent.tag == "frame":
                self.reader.fail(element, "a body that stands in a <frame> is not attached", "attach the whole model")
            found = bodies
        elif "frame" in element.attributes:
            name = element.get("frame")
            below = [e for world in worlds for e in (all_below(world) if not element.get("model") else world)]
            found = [e for e in below if e.tag == "frame" and e.get("name") == name]
            if not found:
                rule = f"the world of the model {element.get('model')[:80]!r} has no frame {name[:80]!r}"
                self.reader.fail(element, rule, "attach the whole model")
        element.tag = ATTACHED
        self.sources[id(element)] = source
        ends = element.get("prefix"), self.files.suffixes.get(id(element), "")
        element.children = [self._copied_tree(child, element, *ends) for child in found]

    def _copied_tree(self, top: Element, parent: Element, prefix: str, suffix: str) -> Element:
        """A tree once more, with other names."""
        stack = [(top, parent)]
        copies: list[Element] = []
        while stack:
            element, above = stack.pop()
            names = {"name": prefix + element.get("name") + suffix} if "name" in element.attributes else {}
            copy = self.reader.twin(element, element.attributes | names)
            copy.parent = above
            if above is not parent:
                above.children.append(copy)
            if id(element) in self.sources:
                self.sources[id(copy)] = self.sources[id(element)]
            copies.append(copy)
            self.files.count(element)
            stack.extend((child, copy) for child in reversed(element.children))
        return copies[0]
