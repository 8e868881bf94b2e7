"""A kind of study: what it can vary, what it runs, what it measures and what it draws.

That is all that files, verdicts, tables and pages of studies know of what is studied.  A kind of one's own is a
subclass of :class:`StudyKind`, made known by :func:`study_kind`, or by an installed package through an entry point of
the group ``fallingcat.studies``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import entry_points
from inspect import signature
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, NamedTuple, SupportsFloat, TypeVar

from pydantic import ConfigDict

from .._deprecated import former_arguments, former_attribute, former_methods, former_name
from ..errors import ModelError, describe, nearest_name_hint
from ..records import concise
from .validation import Table

if TYPE_CHECKING:
    from ..simulation import Trajectory
    from ..visualization.page import Block
    from .tables import Study

GROUP: Final = "fallingcat.studies"
"""Group of entry points: kind's name = "module:Class"."""

Progress = Callable[[str, float], None]
"""Callback with the phase of a run and the share of it that is done."""


class Parameters(Table):
    """Parameters of a study: the keys of ``[parameters]`` in its file, with their defaults; numbers are finite.

    Example:
        >>> class Drop(Parameters):
        ...     height: float = 1.0
        >>> Drop(height=2).height
        2.0
    """

    model_config = ConfigDict(allow_inf_nan=False)


@concise
class Figures(NamedTuple):
    """Blocks of the page of a study, above and below its table of numbers.

    Example:
        >>> Figures().above
        ()
    """

    above: Sequence[Block] = ()
    below: Sequence[Block] = ()


P = TypeVar("P", bound=Parameters)
R = TypeVar("R")
K = TypeVar("K", bound="StudyKind[Any, Any]")


class StudyKind(ABC, Generic[P, R]):
    """Base class for kinds of study, with parameters ``P`` and observed quantities ``R``.

    Example:
        >>> class Halving(StudyKind[Parameters, float]):
        ...     name, parameters = "halving", Parameters
        ...     measures = {"half": lambda seen: seen / 2.0}
        ...     def run(self, parameters, progress):
        ...         return 7.0
        >>> Halving().measure("half")(7.0)
        3.5
        >>> Halving().measure("haf")
        Traceback (most recent call last):
        fallingcat.errors.ModelError: there is no measure 'haf' of the kind 'halving': it is one of half
    """

    name: ClassVar[str]
    """in files: ``kind = "..."``"""
    parameters: type[P]
    measures: Mapping[str, Callable[[R], SupportsFloat]]
    """name in files: a number of what was seen; not a number (NaN) where the run has none"""
    resolution: frozenset[str] = frozenset()
    """parameters that say how much is computed or drawn: with others it is still the published experiment"""

    further_measures: tuple[str, ...] = ()
    """names that :meth:`measure` knows beside ``measures``, to be listed"""
    aside, also = former_attribute("aside", "resolution"), former_attribute("also", "further_measures")
    chunk_sizes: Mapping[str, int] = MappingProxyType({"cpu": 1})
    """targets of :meth:`run_many`, and the number of a sweep's runs that it is given there at once"""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        former_methods(cls, {"together": "chunk_sizes", "aside": "resolution", "also": "further_measures"})
        run = vars(cls).get("run")
        if run is not None and "tell" in signature(run).parameters:
            former_name(f"argument tell of {cls.__name__}.run", "progress")
        elif run is not None:
            cls.run = former_arguments(tell="progress")(run)  # type: ignore[method-assign]

    @abstractmethod
    def run(self, parameters: P, progress: Progress) -> R:
        """Run the study with these parameters.

        Args:
            parameters: Parameters.
            progress: Called with what is being done and its share (0 to 1).

        Returns:
            Observed quantities.
        """

    def run_many(self, many: Sequence[P], target: str = "cpu") -> Sequence[R | Exception]:
        """Run the study with each of many parameters, one by one unless a kind overrides this.

        A run sees the same, bit by bit, whichever others run with it.

        Args:
            many: Parameters of each run.
            target: ``"cpu"``, or ``"cuda"`` for kinds that run on a GPU.

        Returns:
            Observed quantities of each run, or its error.
        """
        return [self._result_or_error(parameters) for parameters in many]

    def _result_or_error(self, parameters: P) -> R | Exception:
        try:
            return self.run(parameters, lambda what, share: None)
        except Exception as error:
            return error

    def measure(self, name: str) -> Callable[[R], SupportsFloat]:
        """Measure by the name that a file uses; an unknown name raises an error that lists them.

        Args:
            name: Name of the measure.

        Returns:
            Function of the observed quantities.
        """
        if name not in self.measures:
            known = ", ".join((*self.measures, *self.further_measures))
            raise ModelError(f"there is no measure {name!r} of the kind {self.name!r}: it is one of {known}")
        return self.measures[name]

    def motion(self, seen: R) -> Trajectory | None:
        """Motion of kinds that simulate one: see :class:`.SimulatedKind`.

        Args:
            seen: Observed quantities.

        Returns:
            Trajectory, or None.
        """
        return None

    def figures(self, study: Study, seen: R) -> Figures:
        """Figures of the page.

        Args:
            study: Study that was run.
            seen: Observed quantities.

        Returns:
            Blocks above and below the table of numbers.
        """
        return Figures()


_KINDS: Final[dict[str, StudyKind[Any, Any]]] = {}


def study_kind(kind: type[K]) -> type[K]:
    """Register a study kind, as a decorator of its class.

    Args:
        kind: Subclass of :class:`StudyKind`; a name belongs to one kind.

    Returns:
        The class, unchanged.

    Example:
        >>> study_kind(Parameters)
        Traceback (most recent call last):
        fallingcat.errors.ModelError: study_kind takes a subclass of StudyKind, not ...Parameters...
    """
    if not isinstance(kind, type) or not issubclass(kind, StudyKind):
        raise ModelError(f"study_kind takes a subclass of StudyKind, not {kind!r}")
    what = f"{kind.__module__}.{kind.__qualname__}"
    lacks = [x for x in ("name", "parameters", "measures") if not hasattr(kind, x)] + sorted(kind.__abstractmethods__)
    if lacks:
        raise ModelError(f"the kind of study {what} has no {', '.join(lacks)}")
    if not isinstance(kind.name, str) or not kind.name or not kind.name.isprintable():
        raise ModelError(f"the kind of study {what}: a name is one line of text, not {kind.name!r}")
    if not isinstance(kind.parameters, type) or not issubclass(kind.parameters, Parameters):
        raise ModelError(f"the kind of study {what}: parameters is a subclass of Parameters, not {kind.parameters!r}")
    strange = sorted(set(kind.resolution) - set(kind.parameters.model_fields))
    if strange:
        raise ModelError(f"the kind of study {what}: its resolution names a parameter {strange[0]!r}, which it has not")
    known = type(_KINDS[kind.name]) if kind.name in _KINDS else kind
    if (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__):
        raise ModelError(f"there is a kind of study {kind.name!r} already: {known.__qualname__}")
    _KINDS[kind.name] = kind()
    return kind


def kinds() -> tuple[str, ...]:
    """Names of all study kinds.

    Returns:
        Names of registered kinds and of kinds of installed packages, in the order of registration.

    Example:
        >>> from fallingcat.studies import kinds
        >>> {"circling-arm", "hopper", "kinematic-control", "orbital-gait"} <= set(kinds())
        True
    """
    return tuple(_KINDS)


def kind_of(name: str) -> StudyKind[Any, Any]:
    """Study kind by name.

    Args:
        name: Kind as study files name it; registered by :func:`study_kind` or by the entry points of an installed
            package.

    Returns:
        The kind.

    Example:
        >>> kind_of("orbital-gait").name
        'orbital-gait'
    """
    if not isinstance(name, str):
        raise ModelError(f"a kind of study is given by its name, not by {describe(name)}")
    if name not in _KINDS:
        for entry in entry_points(group=GROUP, name=name):
            study_kind(entry.load())
    if name not in _KINDS:
        guess = f"{hint} They are" if (hint := nearest_name_hint(name, _KINDS)) else ": they are"
        raise ModelError(f"there is no kind of study {name!r}{guess} {', '.join(_KINDS)}, and your own once made known")
    return _KINDS[name]
