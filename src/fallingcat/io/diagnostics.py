"""Diagnostics of a reader about a file: one error that ends the reading, or warnings that are collected."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, NoReturn, Protocol

import numpy as np

from ..errors import FileError, ModelError, describe
from ..lie import Group
from .limits import MAX_WARNINGS


class FileWarning(UserWarning):
    """Warning of something in a robot file that was read, but perhaps not meant.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("error", FileWarning)  # odd files are errors here
        ...     issubclass(FileWarning, UserWarning)
        True
    """


class Located(Protocol):
    """Anything with a place in a file: an XML element, or a :class:`Place`."""

    @property
    def line(self) -> int | None:
        """Counted from 1; None where a format does not say."""

    @property
    def label(self) -> str:
        """Name in a message, e.g. ``<link name='arm'>``."""


class Place(NamedTuple):
    """A place of its own, for formats without elements.

    Example:
        >>> Place(3, "[[link]] 'arm'").label
        "[[link]] 'arm'"
    """

    line: int | None = None
    label: str = ""


@dataclass(frozen=True)
class Options:
    """Options of the caller of ``load``; see there.  None means: as the file says."""

    base: Group | None = None
    fixed: Literal["merge", "keep"] = "merge"
    physics: Literal["strict", "warn"] = "strict"
    faults: Literal["strict", "warn"] = "strict"
    gravity: np.ndarray | None = None
    inside: Path | None = None
    root: str | None = None
    massless: Literal["keep", "weld"] = "keep"
    xacro: Literal["refuse", "expand", "skip"] = "refuse"
    loops: Literal["open", "close"] | None = None


@dataclass
class _GroupedWarning:
    """A warning about several places of a file."""

    index: int
    first: str
    places: set[tuple[int | None, str]]
    lines: list[str] = field(default_factory=list)

    def with_place(self, place: Located | None) -> str:
        """The warning, with one place more."""
        self.places.add(_where(place))
        more = len(self.places) - 1
        if not more:
            return self.first
        if place is not None and place.line is not None and len(self.lines) < min(more, 4):
            self.lines.append(str(place.line))
        where = f": line{'s' * (more > 1)} {', '.join(self.lines)}" if self.lines else ""
        return f"{self.first} (and {more} more{where}{', ...' if more > 4 else ''})"


def _where(place: Located | None) -> tuple[int | None, str]:
    return (None, "") if place is None else (place.line, place.label)


@dataclass
class Reader:
    """Carried through the reading of one file: its path, the options, and the warnings so far.

    Example:
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

    def warn(self, place: Located | None, text: str, kind: str = "") -> None:
        """Remember a warning; those of one ``kind`` (of one text, if left out) are one, which tells the other places.

        Example:
            >>> reader = Reader("robot.urdf")
            >>> for line in 7, 9, 12:
            ...     reader.warn(Place(line, "<axis>"), "the axis was not of length 1")
            >>> reader.warnings
            ['robot.urdf:7: <axis>: the axis was not of length 1 (and 2 more: lines 9, 12)']
        """
        if (remark := self._seen.get(kind or text)) is not None:
            self.warnings[remark.index] = remark.with_place(place)
            return
        if len(self.warnings) > MAX_WARNINGS:
            return
        if len(self.warnings) == MAX_WARNINGS:
            place, text = None, f"there are more than {MAX_WARNINGS:,} warnings: the others are left out"
        message = str(self._error(place, text, None))  # an error is one line, whatever names the file holds
        self._seen[kind or text] = _GroupedWarning(len(self.warnings), message, {_where(place)})
        self.warnings.append(message)

    def fault(self, place: Located | None, rule: str, taken: str) -> None:
        """A rule is broken: an error, or with ``faults="warn"`` a warning that says how the file is ``taken``.

        Example:
            >>> reader = Reader("robot.urdf", Options(faults="warn"))
            >>> reader.fault(Place(9, "<inertial>"), "the <mass> is missing", "zero")
            >>> reader.warnings
            ['robot.urdf:9: <inertial>: the <mass> is missing: zero']
        """
        if self.options.faults == "strict":
            self.fail(place, rule, f'repair the file, or load it with faults="warn": {taken}')
        self.warn(place, f"{rule}: {taken}")

    def physics(self, problems: Sequence[tuple[Located | None, str]]) -> None:
        """Laws of physics are broken, the worst first: an error, or a warning where ``physics="warn"`` asks for it."""
        if "warn" not in (self.options.physics, self.options.faults):
            self.fail(*problems[0], 'repair the file, or load it as it is with physics="warn"')
        for place, problem in problems:
            self.warn(place, problem, kind="physics")

    _seen: dict[str, _GroupedWarning] = field(default_factory=dict, repr=False)
    ignored: Counter[str] = field(default_factory=Counter)
    """Valid statements of the file that nothing here makes use of: number of each."""

    def _error(self, place: Located | None, rule: str, hint: str | None) -> FileError:
        line, label = (place.line, place.label) if place is not None else (None, "")
        return FileError(rule, file=self.file, line=line, element=label or None, hint=hint)


def check_path(path: object) -> None:
    """An error unless this can be the path of a file."""
    if not isinstance(path, (str, os.PathLike)):
        raise ModelError(f"a path is a text or a Path, not {describe(path)}")
