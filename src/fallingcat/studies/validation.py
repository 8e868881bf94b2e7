"""Tables of files that are not trusted: checked by pydantic, with messages of our own, all in one error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat, ValidationError
from pydantic_core import PydanticCustomError

from ..errors import FallingCatError, FileError, nearest_name_hint

MAX_ERRORS: Final = 20  # said in one message


def _one_line(text: str) -> str:
    if not all(c.isprintable() for c in text):
        raise rule_error("a name is one line without control characters")
    return text


def rule_error(rule: str) -> PydanticCustomError:
    """Error of a validator: the rule, word for word."""
    return PydanticCustomError("study", "{rule}", {"rule": rule})


Positive = Annotated[FiniteFloat, Field(gt=0.0)]
Gain = Annotated[FiniteFloat, Field(ge=0.0)]
Line = Annotated[str, AfterValidator(_one_line)]


class Table(BaseModel):
    """A table of a file: no unknown keys, no text that happens to look like a number."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


T = TypeVar("T", bound=Table)


def validate_table(
    table: type[T],
    raw: Mapping[str, Any],
    what: str,
    file: str | None = None,
    *,
    key: str = "key",
    rows: type[Table] | None = None,
) -> T:
    """``raw`` as a table, whose fields are called ``key``, with lists of ``rows``; every broken rule in one error."""
    try:
        return table.model_validate(dict(raw))
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_context=False)
    problems = [_error_text(table, rows or table, key, problem) for problem in wrong[:MAX_ERRORS]]
    text = "; ".join(dict.fromkeys(problems)) + (
        f"; and {rest:,} more" if (rest := len(wrong) - MAX_ERRORS) > 0 else ""
    )
    raise FileError(text, file=file) if file else FallingCatError(f"{what}: {text}")


def _error_text(table: type[Table], rows: type[Table], key: str, problem: Any) -> str:
    """One of pydantic's errors in our words."""
    known = {*table.model_fields, *rows.model_fields}
    place = ".".join(str(part) for part in problem["loc"] if part in known or isinstance(part, int))
    if problem["type"] == "extra_forbidden":
        fields = (rows if len(problem["loc"]) > 1 else table).model_fields
        word = str(problem["loc"][-1])
        guess = f"{hint} They are" if (hint := nearest_name_hint(word, fields)) else ": they are"
        return f"there is no {key} {word!r}{guess} {', '.join(fields)}"
    if problem["type"] == "missing":
        return f"{place or str(problem['loc'][-1])!r} is missing"
    if problem["type"] == "study":
        return f"{place}: {problem['msg']}" if place else str(problem["msg"])
    text = problem["msg"].replace("Input should be", "should be").replace("a valid ", "a ")
    given = problem["input"]
    return f"{place}: {text}, not {given!r}" if isinstance(given, (str, bool, int, float)) else f"{place}: {text}"
