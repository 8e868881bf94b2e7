"""What every kind of study is: parameters, a run, what is seen of it, and a page."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
from pydantic import BaseModel, ConfigDict

from ..errors import ModelError
from ..simulation import Trajectory

if TYPE_CHECKING:
    from ..views import Page
    from .study import StudyResult

Progress = Callable[[str, float], None]
"""What is being done, and which share of it is."""


class Table(BaseModel):
    """A table of a file: no unknown keys, no text that happens to look like a number."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


@dataclass(frozen=True, eq=False)
class Seen:
    """A run and its parameters: what measures look at.  A kind may see more of it."""

    run: Trajectory
    parameters: Any

    @property
    def times(self) -> np.ndarray:
        """s"""
        return self.run.times


@dataclass(frozen=True, eq=False)
class Found:
    """What running a study gives."""

    seen: Seen
    numbers: dict[str, float] = field(default_factory=dict)
    """that are no measure of one run, by the names that rows use"""
    curves: dict[str, np.ndarray] = field(default_factory=dict)
    """for the page"""


class StudyKind(ABC):
    """A kind of study: write one as a class, and :func:`study_kind` makes it known to files and to ``run``."""

    name: ClassVar[str]
    """``kind`` in a study's file"""
    parameters: ClassVar[type[Table]]
    """what ``[parameters]`` of the file holds: a pydantic model with units in its docstrings"""
    robots: ClassVar[tuple[str, ...]]
    """what ``robot`` of the file may be"""

    @abstractmethod
    def run(self, robot: str, parameters: Any, tell: Progress) -> Found:
        """Simulate; ``tell(what, share)`` now and then."""

    @property
    def of_the_experiment(self) -> frozenset[str]:
        """Parameters that make it another experiment when changed: all, unless some say only how to look at it."""
        return frozenset(self.parameters.model_fields)

    def page(self, result: StudyResult) -> Page:
        """The run's own page, with the table of published and own numbers in front of its charts."""
        from .page import plain_page

        return plain_page(result)


KINDS: Final[dict[str, StudyKind]] = {}
"""By name."""


def study_kind(kind: type[StudyKind]) -> type[StudyKind]:
    """Makes a kind of study known to files; one that is known already by that name is an error."""
    known = KINDS.get(kind.name)
    if known is not None and type(known).__qualname__ != kind.__qualname__:
        raise ModelError(f"there is a kind of study {kind.name!r} already: {type(known).__qualname__}")
    KINDS[kind.name] = kind()
    return kind
