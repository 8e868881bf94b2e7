"""Studies as data: TOML files with parameters and the numbers that were published, checked by pydantic.

.. code-block:: toml

    title = "Forward hopping"
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

What is published is written as it is printed, in quotes: the digits of a number are its tolerance.
Unknown keys, text in place of numbers, numbers that are not finite: every broken rule is named, all in one error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from ..errors import FallingCatError, FileError, ModelError, told
from ..io.diagnostics import Reader
from ..io.files import read_bytes
from ..io.toml_text import decoded, parsed
from .kind import KINDS, Table
from .verdicts import Band, printed_number, rounds_to


def _one_line(text: str) -> str:
    if not all(c.isprintable() for c in text):
        raise PydanticCustomError("study", "a name is one line without control characters")
    return text


Positive = Annotated[FiniteFloat, Field(gt=0.0)]
Gain = Annotated[FiniteFloat, Field(ge=0.0)]
Line = Annotated[str, AfterValidator(_one_line)]
LARGEST_FILE: Final = 1_000_000
MOST_ERRORS: Final = 20  # said in one message


class Parameters(Table):
    """What a hopper is released with, and the gains of its controller: the columns of [Feurstein] Tables 4.6-4.8 and
    4.11-4.13.
    """

    duration: Annotated[FiniteFloat, Field(gt=0.0, le=3600.0)]
    """s"""
    g: Gain
    """gravity (m/s^2)"""
    x: FiniteFloat
    """of the base (m)"""
    y: FiniteFloat
    """of the base, above the floor (m)"""
    theta: FiniteFloat
    """of the base (rad)"""
    q1: FiniteFloat
    """joint (rad or m)"""
    vx: FiniteFloat = 0.0
    """of the base, along its own axes (m/s)"""
    vy: FiniteFloat = 0.0
    omega: FiniteFloat = 0.0
    """of the base (rad/s)"""
    q1_dot: FiniteFloat = 0.0
    """rad/s or m/s"""
    disturbance: FiniteFloat = 0.0
    """added to ``theta`` (rad)"""
    controller: Literal["I", "II", "III"] = "II"
    """radial only; polar spring on the virtual leg; polar spring on the locked-velocity frame"""
    K_r: Gain
    """radial spring (N/m)"""
    D_r: Gain = 0.0
    """radial damper, in flight (N s/m)"""
    K_p: Gain = 0.0
    """polar spring, in stance (N m/rad)"""
    D_p: Gain = 0.0
    """polar damper, in stance (N m s/rad)"""
    K_E: Gain = 0.0
    """energy controller (s/m^2)"""
    r_des: Positive | Literal["initial"]
    """rest length of the radial spring (m)"""
    alpha_des: FiniteFloat = 0.0
    """rad"""
    E_des: FiniteFloat | Literal["initial"] = "initial"
    """J; ``initial``: kinetic, gravitational and spring energy at the start"""
    K_floor_x: Gain = 1e4
    """N/m"""
    K_floor_y: Gain = 1e4
    D_floor_x: Gain = 1e3
    """N s/m"""
    D_floor_y: Gain = 1e3
    shortest_flight: Gain = 0.015
    """s; a shorter one is a bounce of the foot, not a hop"""


class ScanParameters(Parameters):
    """Figure 4.7: ``q1`` varied, the virtual leg vertical; ``q1``, ``theta`` and ``r_des`` are then found for each."""

    q1_first: FiniteFloat
    """rad"""
    q1_last: FiniteFloat
    """rad"""
    points: Annotated[int, Field(ge=3, le=1000)]

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.q1_first < self.q1_last:
            raise PydanticCustomError("study", "q1_first lies below q1_last")
        return self


class BasinParameters(Parameters):
    """A run that converges, and how much its gait can be pushed: bisections on both sides of every coordinate."""

    basin_hops: Annotated[int, Field(ge=0, le=1000)] = 25
    """hops within which a pushed gait must be back; 0: no pushes"""
    basin_steps: Annotated[int, Field(ge=1, le=30)] = 3
    """halvings of the interval in which the edge lies"""


class RowTable(Table):
    """One number of a study: what is measured, and what was published about it."""

    name: Line
    measure: Line
    unit: Line = ""
    published: Line | None = None
    """as printed: a number agrees with all that rounds to it; words need ``within``"""
    where: Line = ""
    """where it is printed, and in which words"""
    within: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None
    """smallest and largest number that agree, where the printed digits do not say it"""
    because: str = ""
    """why ``within`` is what it is"""
    incomparable: str = ""
    """why ours is not what the source measured"""
    tolerance: Gain | None = None
    """in the unit, where nothing is published: from ``reference``, or the largest size that holds"""
    reference: FiniteFloat | None = None
    """computed independently, by others than the thesis and than us"""
    remark: str = ""

    @field_validator("published", mode="before")
    @classmethod
    def _as_printed(cls, value: Any) -> Any:
        if isinstance(value, int | float):
            raise PydanticCustomError("study", "is written as printed, in quotes: its digits are its tolerance")
        return value

    @model_validator(mode="after")
    def _judged_by_its_source(self) -> Self:
        words = self.published is not None and printed_number(self.published) is None
        rules = {
            "published: words need 'within', the numbers that agree, or 'incomparable'": not words
            or bool(self.within or self.incomparable),
            "within: needs 'published', and 'because', which says where it comes from": self.within is None
            or bool(self.published and self.because),
            "within: the smaller number first": self.within is None or self.within[0] <= self.within[1],
            "tolerance: is for what is not published; the digits of 'published' say what agrees": self.published is None
            or self.tolerance is None,
        }
        broken = [rule for rule, kept in rules.items() if not kept]
        if broken:
            raise PydanticCustomError("study", "{rules}", {"rules": "; ".join(broken)})
        return self

    @property
    def band(self) -> Band | None:
        """What agrees with the source; None where it says nothing, or no number."""
        if self.within is not None:
            return self.within[0], self.within[1]
        return rounds_to(self.published) if self.published and printed_number(self.published) is not None else None


class StudyTable(Table):
    """The whole file."""

    title: Line
    kind: Line = "run"
    robot: Line
    figures: Line = ""
    about: str = ""
    parameters: dict[str, Any]
    row: Annotated[list[RowTable], Field(default_factory=list, max_length=1000)]

    @field_validator("kind")
    @classmethod
    def _known(cls, kind: str) -> str:
        if kind not in KINDS:
            raise PydanticCustomError("study", "should be {kinds}, not {kind}", _listed(KINDS, kind))
        return kind

    @field_validator("robot")
    @classmethod
    def _of_its_kind(cls, robot: str, info: ValidationInfo) -> str:
        known = KINDS[info.data["kind"]].robots if "kind" in info.data else (robot,)
        if robot not in known:
            raise PydanticCustomError("study", "should be {kinds}, not {kind}", _listed(known, robot))
        return robot


def _listed(options: Iterable[str], given: str) -> dict[str, Any]:
    return {"kinds": " or ".join(map(repr, options)), "kind": repr(given)}


class Study(BaseModel):
    """A study: its name, what its file says, and its checked parameters."""

    model_config = ConfigDict(frozen=True)
    name: str
    table: StudyTable
    parameters: Any
    """what its kind has"""
    changed: tuple[str, ...] = ()
    """parameters that are not as the file has them"""

    @property
    def other_experiment(self) -> str:
        """Why it is not the one that was published: parameters of the robot that were changed; empty if none were."""
        changed = [name for name in self.changed if name in KINDS[self.table.kind].of_the_experiment]
        return f"parameters were changed: {', '.join(changed)}" if changed else ""

    def with_parameters(self, changes: Mapping[str, Any]) -> Study:
        """The same study with other parameters."""
        whole = self.parameters.model_dump() | dict(changes)
        parameters = _checked(KINDS[self.table.kind].parameters, whole, f"study {self.name!r}")
        old, new = self.parameters.model_dump(), parameters.model_dump()
        changed = tuple(key for key in new if new[key] != old[key])
        return self.model_copy(update={"parameters": parameters, "changed": (*self.changed, *changed)})


def names() -> tuple[str, ...]:
    """The studies that come with the library.

    >>> names()[:4]
    ('prismatic-1', 'prismatic-2', 'prismatic-3', 'revolute-1')
    """
    files = (resources.files(__package__) / "data").iterdir()
    return tuple(sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml")))


def load(study: str) -> Study:
    """A study by name, or from a file of one's own (whose name ends in ``.toml``).

    >>> load("revolute-6").parameters.K_E
    10.0
    >>> load("revolute-7")
    Traceback (most recent call last):
    fallingcat.errors.ModelError: there is no study 'revolute-7'; do you mean 'revolute-6'? Studies: prismatic-1, ...
    """
    if not isinstance(study, str):
        raise ModelError(f"a study is given by its name or its file, not by {study!r}")
    if study.endswith(".toml"):
        reader = Reader(study)
        return parse(decoded(read_bytes(reader, LARGEST_FILE), reader), Path(study).stem, study)
    if study not in names():
        near = get_close_matches(study, names(), n=1)
        guess = f"; do you mean {near[0]!r}?" if near else "."
        raise ModelError(f"there is no study {study!r}{guess} Studies: {', '.join(names())}")
    text = (resources.files(__package__) / "data" / f"{study}.toml").read_text(encoding="utf-8")
    return parse(text, study, f"{study}.toml")


def parse(text: str, name: str, file: str) -> Study:
    """The study in the text of a TOML file.

    >>> parse("title = 'a'\\nrobot = 'cat'\\nfigure = '1'\\n[parameters]", "a", "a.toml")
    Traceback (most recent call last):
    fallingcat.errors.FileError: a.toml: robot: should be 'prismatic_hopper' or 'revolute_hopper', not 'cat'; there is
    no key 'figure'; do you mean 'figures'? They are title, kind, robot, figures, about, parameters, row
    """
    if not isinstance(text, str):
        raise ModelError(f"a study is parsed from a text, not from {told(text)}")
    table = _checked(StudyTable, parsed(text, Reader(file)), file, file)
    parameters = _checked(KINDS[table.kind].parameters, table.parameters, file, file)
    return Study(name=name, table=table, parameters=parameters)


def _checked(kind: type[Any], raw: Mapping[str, Any], what: str, file: str | None = None) -> Any:
    """``raw`` as a table; every broken rule in one error."""
    try:
        return kind.model_validate(dict(raw))
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_context=False)
    problems = [_words(kind, problem) for problem in wrong[:MOST_ERRORS]]
    text = "; ".join(dict.fromkeys(problems)) + (
        f"; and {rest:,} more" if (rest := len(wrong) - MOST_ERRORS) > 0 else ""
    )
    raise FileError(text, file=file) if file else FallingCatError(f"{what}: {text}")


def _words(kind: type[Any], problem: Any) -> str:
    """One of pydantic's errors in our words."""
    known = {*kind.model_fields, *StudyTable.model_fields, *RowTable.model_fields}
    key = ".".join(str(part) for part in problem["loc"] if part in known or isinstance(part, int))
    if problem["type"] == "extra_forbidden":
        fields = (RowTable if len(problem["loc"]) > 1 else kind).model_fields
        word, what = str(problem["loc"][-1]), "key" if kind is StudyTable else "parameter"
        near = [x for x in fields if x.lower() == word.lower()] or get_close_matches(word, fields, n=1)
        guess = f"; do you mean {near[0]!r}? They are" if near else ": they are"
        return f"there is no {what} {word!r}{guess} {', '.join(fields)}"
    if problem["type"] == "missing":
        return f"{key or str(problem['loc'][-1])!r} is missing"
    if problem["type"] == "study":
        return f"{key}: {problem['msg']}" if key else str(problem["msg"])
    text = problem["msg"].replace("Input should be", "should be").replace("a valid ", "a ")
    given = problem["input"]
    return f"{key}: {text}, not {given!r}" if isinstance(given, (str, bool, int, float)) else f"{key}: {text}"
