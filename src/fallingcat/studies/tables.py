"""Studies as data: TOML files with parameters and the numbers that were published, checked by pydantic.

.. code-block:: toml

    title = "Forward hopping"
    kind = "hopper"
    robot = "revolute_hopper"

    [parameters]
    duration = 20.0
    K_r = 2200.0

    [[row]]
    name = "external work"
    measure = "external_work"
    unit = "J"
    published = "7.15"
    where = "4.3.2, EXP VI, p. 70"

The kind says which parameters and measures there are (:mod:`fallingcat.studies.kind`).
What is published is written as it is printed, in quotes: the digits of a number are its tolerance.
Unknown keys, text in place of numbers, numbers that are not finite: every broken rule is named, all in one error.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import resources
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, field_validator, model_validator

from ..errors import FileError, ModelError, describe, nearest_name_hint
from ..io.diagnostics import Reader
from ..io.files import read_bytes
from ..io.toml.text import decoded, parsed
from .kind import Parameters, StudyKind, kind_of
from .validation import Gain, Line, Table, rule_error, validate_table
from .verdicts import Band, printed_number, rounds_to

FILES: Final = "fallingcat.study_files"
"""Group of entry points: packages whose ``.toml`` files are studies."""
LARGEST_FILE: Final = 1_000_000


class RowTable(Table):
    """Row of a study file: the measured quantity, and the published value."""

    name: Line
    measure: Line
    unit: Line = ""
    published: Line | None = None
    """printed value: a number agrees with all that rounds to it; words need ``where`` and ``within``"""
    where: Line = ""
    """place in the source; of words, the sentence"""
    within: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None
    """smallest and largest number that agree with printed words"""
    because: str = ""
    """the rule behind ``within``"""
    incomparable: str = ""
    """reason why ours is not what the source measured"""
    tolerance: Gain | None = None
    """in the unit, where nothing is published: from ``reference``, or the largest size that holds"""
    reference: FiniteFloat | None = None
    """computed independently, by others than the source and than us"""
    remark: str = ""

    @field_validator("published", mode="before")
    @classmethod
    def _as_printed(cls, value: Any) -> Any:
        if isinstance(value, int | float):
            raise rule_error("is written as printed, in quotes: its digits are its tolerance")
        return value

    @model_validator(mode="after")
    def _judged_by_its_source(self) -> Self:
        words = self.published is not None and printed_number(self.published) is None
        rules = {
            "published: words need 'within', the numbers that agree, or 'incomparable'": not words
            or bool(self.within or self.incomparable),
            "published: words need 'where', the sentence that is judged": not words or bool(self.where),
            "within: is for words; a printed number agrees with what rounds to it": self.within is None or words,
            "within: needs 'because', the rule by which the words are judged": self.within is None
            or bool(self.because),
            "within: the smaller number first": self.within is None or self.within[0] <= self.within[1],
            "tolerance: is for what is not published; the digits of 'published' say what agrees": self.published is None
            or self.tolerance is None,
        }
        if not all(rules.values()):
            raise rule_error("; ".join(rule for rule, kept in rules.items() if not kept))
        return self

    @property
    def band(self) -> Band | None:
        """Interval that agrees with the source; None where it says nothing, or no number."""
        if self.within is not None:
            return self.within[0], self.within[1]
        return rounds_to(self.published) if self.published and printed_number(self.published) is not None else None


class StudyTable(Table):
    """Contents of a study file."""

    title: Line
    kind: Line = "hopper"
    robot: Line | None = None
    """the parameter of that name, of kinds that have one"""
    figures: Line = ""
    about: str = ""
    parameters: dict[str, Any]
    fast: dict[str, Any] = Field(default_factory=dict)
    """parameters of a quicker run, of those that leave the published experiment: see :attr:`.StudyKind.resolution`"""
    row: list[RowTable] = Field(default_factory=list, max_length=1000)


class Study(BaseModel):
    """Study: its name, the contents of its file, and its checked parameters.

    Example:
        >>> study = load("revolute-6")
        >>> study.with_parameters({"K_E": 8.0}).changed
        ('K_E',)
    """

    model_config = ConfigDict(frozen=True)
    name: str
    table: StudyTable
    parameters: Parameters
    changed: tuple[str, ...] = ()
    """parameters that are not as the file has them"""
    file: str = ""
    """file it was read from; empty for those of the library"""

    @property
    def kind(self) -> StudyKind[Any, Any]:
        """Kind of the study."""
        return kind_of(self.table.kind)

    @property
    def other_experiment(self) -> str:
        """Difference from the published experiment: changed parameters; empty if none were changed that matter."""
        changed = [name for name in self.changed if name not in self.kind.resolution]
        return f"parameters were changed: {', '.join(changed)}" if changed else ""

    def with_parameters(self, changes: Mapping[str, Any]) -> Study:
        """Same study with other parameters.

        Args:
            changes: New values by parameter.

        Returns:
            Study that lists the parameters that differ in ``changed``.
        """
        if not isinstance(changes, Mapping):
            raise ModelError(f"changes is a mapping from parameters to values, not {describe(changes)}")
        whole = self.parameters.model_dump() | dict(changes)
        parameters = validate_table(self.kind.parameters, whole, f"study {self.name!r}", key="parameter")
        old, new = self.parameters.model_dump(), parameters.model_dump()
        changed = tuple(key for key in new if key not in old or new[key] != old[key])
        return self.model_copy(update={"parameters": parameters, "changed": (*self.changed, *changed)})


def names() -> tuple[str, ...]:
    """Names of all studies of the library and of installed packages.

    Returns:
        Sorted names, as :func:`load` and ``fallingcat study run`` take them.

    Example:
        >>> names()[:3]
        ('acrobot-swing-up', 'astronaut-turn', 'backflip')
    """
    return tuple(_files())


def _files() -> dict[str, Any]:
    """Study files by name: of the library, then of packages that an entry point of :data:`FILES` names."""
    folders = [resources.files(__package__) / "data", *(resources.files(e.load()) for e in entry_points(group=FILES))]
    found: dict[str, Any] = {}
    for folder in folders:
        files = {file.name.removesuffix(".toml"): file for file in folder.iterdir() if file.name.endswith(".toml")}
        found |= {name: files[name] for name in sorted(files) if name not in found}
    return found


def load(study: str) -> Study:
    """Load a study.

    Args:
        study: Name of a study (see :func:`names`), or path of a ``.toml`` file.

    Returns:
        The study with its checked parameters.

    Example:
        >>> load("revolute-6").parameters.K_E
        10.0
        >>> load("revolute-7")
        Traceback (most recent call last):
        fallingcat.errors.ModelError: there is no study 'revolute-7'; do you mean 'revolute-6'? Studies: ...
    """
    if not isinstance(study, str):
        raise ModelError(f"a study is given by its name or its file, not by {study!r}")
    if study.endswith(".toml"):
        reader = Reader(study)
        own = parse(decoded(read_bytes(reader, LARGEST_FILE), reader), Path(study).stem, study)
        return own.model_copy(update={"file": study})
    if study not in names():
        raise ModelError(
            f"there is no study {study!r}{nearest_name_hint(study, names()) or '.'} Studies: {', '.join(names())}"
        )
    text = _files()[study].read_text(encoding="utf-8")
    return parse(text, study, f"{study}.toml")


def parse(text: str, name: str, file: str) -> Study:
    r"""Parse a study from the text of a TOML file.

    Args:
        text: Contents of the file.
        name: Name that the study gets.
        file: Path for error messages.

    Returns:
        The study with its checked parameters.

    Example:
        >>> parse("title = 'a'\nfigure = '1'\n[parameters]", "a", "a.toml")
        Traceback (most recent call last):
        fallingcat.errors.FileError: a.toml: there is no key 'figure'; do you mean 'figures'? They are title, ...
        figures, about, parameters, fast, row
    """
    if not isinstance(text, str) or not isinstance(file, (str, os.PathLike)):
        raise ModelError(
            f"a study is parsed from a text and the path of its file, not from {describe(text)}, {describe(file)}"
        )
    table = validate_table(StudyTable, parsed(text, Reader(file)), file, file, rows=RowTable)
    where = "kind"
    try:
        kind = kind_of(table.kind)
        for k, row in enumerate(table.row):
            where = f"row.{k}.measure"
            kind.measure(row.measure)
    except ModelError as error:
        raise FileError(f"{where}: {error}", file=file) from None
    other = sorted(set(table.fast) - kind.resolution)
    if other:
        raise FileError(f"fast: with another {other[0]!r} it is another experiment", file=file)
    given = table.parameters if table.robot is None else {"robot": table.robot} | table.parameters
    return Study(name=name, table=table, parameters=validate_table(kind.parameters, given, file, file, key="parameter"))
