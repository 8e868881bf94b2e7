"""What a reader has to say about a file: one error that ends the reading, or warnings that are collected."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, NoReturn, Protocol

import numpy as np

from ..errors import FileError, ModelError, told
from ..lie import Group
from .limits import MAX_WARNINGS


class FileWarning(UserWarning):
    """Something in a robot file that was read, but perhaps not meant."""


class Located(Protocol):
    """Anything with a place in a file: an XML element, or a :class:`Place`."""

    @property
    def line(self) -> int | None:
        """Counted from 1; None where a format does not say."""

    @property
    def label(self) -> str:
        """How to call it in a message, e.g. ``<link name='arm'>``."""


class Place(NamedTuple):
    """A place of its own, for formats without elements.

    >>> Place(3, "[[link]] 'arm'").label
    "[[link]] 'arm'"
    """

    line: int | None = None
    label: str = ""


@dataclass(frozen=True)
class Options:
    """What the caller of ``load`` asked for; see there.  None means: as the file says."""

    base: Group | None = None
    fixed: Literal["merge", "keep"] = "merge"
    physics: Literal["strict", "warn"] = "strict"
    gravity: np.ndarray | None = None
    inside: Path | None = None
    root: str | None = None


@dataclass
class Reader:
    """Carried through the reading of one file: its path, the options, and the warnings so far.

    >>> reader = Reader("robot.urdf")
    >>> reader.warn(Place(7, "<axis>"), "the axis was not of length 1")
    >>> reader.warnings
    ['robot.urdf:7: <axis>: the axis was not of length 1']
    >>> reader.fail(Place(9, "<mass>"), "mass must be positive", "is -1")
    Traceback (most recent call last):
    fallingcat.errors.FileError: robot.urdf:9: <mass>: mass must be positive (is -1)
    """

    file: str | os.PathLike[str]
    options: Options = field(default_factory=Options)
    warnings: list[str] = field(default_factory=list)

    def fail(self, place: Located | None, rule: str, hint: str | None = None) -> NoReturn:
        """End the reading: ``place`` breaks ``rule``; ``hint`` is the way out."""
        raise self._error(place, rule, hint)

    def warn(self, place: Located | None, text: str) -> None:
        """Remember a warning; the same one twice is one, and there are at most :data:`MAX_WARNINGS`."""
        if len(self.warnings) > MAX_WARNINGS:
            return
        if len(self.warnings) == MAX_WARNINGS:
            place, text = None, f"there are more than {MAX_WARNINGS:,} warnings: the others are left out"
        message = str(self._error(place, text, None))  # an error is one line, whatever names the file holds
        if message not in self._seen:
            self._seen.add(message)
            self.warnings.append(message)

    def physics(self, place: Located | None, problem: str) -> None:
        """A law of physics is broken: an error, or a warning where ``physics="warn"`` was asked for."""
        if self.options.physics == "strict":
            self.fail(place, problem, 'repair the file, or load it as it is with physics="warn"')
        self.warn(place, problem)

    _seen: set[str] = field(default_factory=set, repr=False)

    def _error(self, place: Located | None, rule: str, hint: str | None) -> FileError:
        line, label = (place.line, place.label) if place is not None else (None, "")
        return FileError(rule, file=self.file, line=line, element=label or None, hint=hint)


def check_path(path: object) -> None:
    """An error unless this can be the path of a file."""
    if not isinstance(path, (str, os.PathLike)):
        raise ModelError(f"a path is a text or a Path, not {told(path)}")
