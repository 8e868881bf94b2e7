"""``<include file="..."/>``, the elements of another file in its place, and the files of other models."""

from __future__ import annotations

import os
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ...errors import FileError
from ..diagnostics import Located, Reader
from ..files import read_bytes
from ..limits import MAX_BYTES, MAX_DEPTH, MAX_ELEMENTS
from ..safe_xml import Element, parse
from .folders import locate

MAX_INCLUDES: Final = 1_000
"""Files that a robot may include."""
MAX_INCLUDE_DEPTH: Final = 10
"""Files that include files that include files."""


@dataclass
class FilesReader(Reader):
    """A reader of several files: it knows which element came from which."""

    origin: dict[int, str | os.PathLike[str]] = field(default_factory=dict, repr=False)

    def file_of(self, place: Located | None) -> str | os.PathLike[str]:
        """The file that holds an element."""
        return self.origin.get(id(place), self.file)

    def twin(self, element: Element, attributes: dict[str, str]) -> Element:
        """The element with other attributes, at the same place of the same file."""
        copy = Element(element.tag, attributes, element.line, element.parent)
        if id(element) in self.origin:
            self.origin[id(copy)] = self.origin[id(element)]
            self._kept.append(copy)
        return copy

    _kept: list[Element] = field(default_factory=list, repr=False)  # alive, so that no other object gets their ids

    def _error(self, place: Located | None, rule: str, hint: str | None) -> FileError:
        error = super()._error(place, rule, hint)
        error.file = os.fspath(self.file_of(place))
        return error


class Files:
    """The files of a robot beside its first: included ones, and models to attach; all of them within the limits."""

    def __init__(self, reader: FilesReader) -> None:
        self.reader = reader
        self.files = self.bytes = self.elements = 0
        self.suffixes: dict[int, str] = {}
        """By the identity of an ``<attach>`` that was copied: what its names end in."""

    def splice(self, root: Element, path: Path) -> None:
        """Put into the tree of a model every file that it includes; each once."""
        seen = {path.resolve()}
        stack = [(root, 0, 1)]
        while stack:
            element, level, depth = stack.pop()
            if depth > MAX_DEPTH:
                self.reader.fail(element, f"elements are nested at most {MAX_DEPTH:,} deep")
            waiting = deque((child, level) for child in element)
            element.children.clear()
            while waiting:
                child, inner = waiting.popleft()
                child.parent = element
                if child.tag == "include":
                    found = self._included(child, path.parent, inner + 1, seen)
                    waiting.extendleft((grandchild, inner + 1) for grandchild in reversed(found))
                else:
                    element.children.append(child)
                    stack.append((child, inner, depth + 1))

    def model(self, element: Element, folder: Path, depth: int) -> tuple[Element, Path]:
        """The ``<mujoco>`` of the file that a ``<model>`` names, seen from the folder of the model that has it."""
        path = locate(self.reader, element, element.get("file"), [folder])
        root = self._root(element, path, depth, ("mujoco",))
        self.splice(root, path)
        return root, path

    def count(self, place: Element) -> None:
        """One element more."""
        self.elements += 1
        if self.elements > MAX_ELEMENTS:
            self.reader.fail(place, f"the files of a robot have at most {MAX_ELEMENTS:,} elements together")

    def _included(self, element: Element, folder: Path, level: int, seen: set[Path]) -> list[Element]:
        """Elements inside the root of the file that an ``<include>`` names."""
        reader = self.reader
        if set(element.attributes) != {"file"} or element.children:
            reader.fail(element, "an <include> has the attribute 'file' and nothing else")
        includer = Path(reader.file_of(element)).absolute().parent
        path = locate(reader, element, element.get("file"), [folder, includer])
        if path.resolve() in seen:
            rule = f"the file {element.get('file')[:80]!r} is included twice, or includes itself"
            reader.fail(element, rule, "a file is included once at most")
        seen.add(path.resolve())
        return list(self._root(element, path, level, ("mujoco", "mujocoinclude")).children)

    def _root(self, element: Element, path: Path, level: int, tags: tuple[str, ...]) -> Element:
        reader = self.reader
        self.files += 1
        if self.files > MAX_INCLUDES:
            reader.fail(element, f"a robot includes at most {MAX_INCLUDES:,} files")
        if level > MAX_INCLUDE_DEPTH:
            reader.fail(element, f"files include files at most {MAX_INCLUDE_DEPTH} deep")
        inner = Reader(path, reader.options, reader.warnings, reader._seen)
        data = read_bytes(inner)
        self.bytes += len(data)
        if self.bytes > MAX_BYTES:
            reader.fail(element, f"the files of a robot have at most {MAX_BYTES // 2**20} MiB together")
        root = parse(data, inner)
        if root.tag not in tags:
            inner.fail(root, f"the root element of an included file is {' or '.join(f'<{tag}>' for tag in tags)}")
        self._note_origin(root, path)
        return root

    def _note_origin(self, root: Element, path: Path) -> None:
        stack = [root]
        while stack:
            element = stack.pop()
            self.reader.origin[id(element)] = path
            self.reader._kept.append(element)
            self.count(element)
            stack.extend(element.children)


def with_includes(root: Element, reader: Reader) -> tuple[FilesReader, Files]:
    """Splice every included file into the tree; the reader that comes back names the right one in its errors."""
    many = FilesReader(reader.file, reader.options, reader.warnings, reader._seen)
    files = Files(many)
    files.splice(root, Path(reader.file).absolute())
    return many, files
