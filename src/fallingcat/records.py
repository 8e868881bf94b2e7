"""Short texts and HTML tables of records, for prompts and notebooks.

>>> from typing import NamedTuple
>>> import numpy as np
>>> @concise
... class Result(NamedTuple):
...     status: str
...     places: np.ndarray
>>> Result("solved", np.zeros((400, 3)))
Result(status='solved', places=<array of shape (400, 3)>)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

from .escaping import html

Kind = TypeVar("Kind", bound=type)

LONGEST_REPR = 1000
"""Characters of a representation."""
LONGEST_VALUE = 160
"""Characters of one field of it."""
MAX_ENTRIES = 12
"""Entries of an array, list or mapping that are written out."""
MAX_ROWS = 20
"""Rows of a table."""


def concise(kind: Kind) -> Kind:
    """Decorator of a dataclass or named tuple whose text is :func:`short_repr`."""
    kind.__repr__ = short_repr  # type: ignore[method-assign,assignment]
    return kind


def tabulated(kind: Kind) -> Kind:
    """As :func:`concise`; notebooks show :func:`table`."""
    kind._repr_html_ = table  # type: ignore[attr-defined]
    return concise(kind)


def of_robot(kind: Kind) -> Kind:
    """Decorator of a class with a ``model``, whose text is its name and that of the robot.

    Example:
        >>> import fallingcat as fc
        >>> fc.planning.Reconstruction(fc.robots.two_cylinder_cat())
        <Reconstruction of 'two_cylinder_cat'>
    """

    def text(made: Any) -> str:
        return f"<{type(made).__name__} of {short_text(made.model.name)}>"

    kind.__repr__ = text  # type: ignore[method-assign,assignment]
    return kind


def short_repr(record: Any) -> str:
    """Text ``Name(field=value, ...)`` of a dataclass or named tuple, in one line of at most 1,000 characters.

    Matrices are represented by their shape; vectors and lists are cut after 12 entries, other values after 160
    characters.
    """
    values = ", ".join(f"{name}={short_text(value)}" for name, value in fields_of(record))
    return _truncate(f"{type(record).__name__}({values}", LONGEST_REPR - 1) + ")"


def table(record: Any) -> str:
    """HTML table of the fields of a record, for notebooks."""
    return html_table(type(record).__name__, [(name, short_text(value)) for name, value in fields_of(record)])


def fields_of(record: Any) -> list[tuple[str, Any]]:
    """Names and values of the fields that a representation shows."""
    if dataclasses.is_dataclass(record):
        return [(each.name, getattr(record, each.name)) for each in dataclasses.fields(record) if each.repr]
    return list(zip(record._fields, tuple(record), strict=True))


def html_table(title: str, rows: Iterable[Sequence[str]], header: Sequence[str] = ()) -> str:
    """HTML table with a caption; texts are escaped, rows after the twentieth are counted.

    Example:
        >>> html_table("cat", [("mass", "3 kg")])
        '<table><caption>cat</caption><tbody><tr><th>mass</th><td>3 kg</td></tr></tbody></table>'
    """
    rows = list(rows)
    body = "".join(f"<tr><th>{html(first)}</th>{_cells(rest)}</tr>" for first, *rest in rows[:MAX_ROWS])
    if len(rows) > MAX_ROWS:
        body += f'<tr><td colspan="{len(rows[0])}">... {len(rows) - MAX_ROWS} more</td></tr>'
    head = "".join(f"<th>{html(name)}</th>" for name in header)
    head = f"<thead><tr>{head}</tr></thead>" if head else ""
    return f"<table><caption>{html(title)}</caption>{head}<tbody>{body}</tbody></table>"


def short_text(value: Any) -> str:
    """Text of a value in at most 160 characters.

    Example:
        >>> short_text([0.1] * 100), short_text("x" * 200)[-8:]
        ('[0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, ... 88 more]', 'xxxxx...')
    """
    return _truncate(_text(value), LONGEST_VALUE)


def _text(value: Any) -> str:
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape:
        numeric = getattr(getattr(value, "dtype", None), "kind", "O") in "fiub"
        if len(shape) > 1 or not numeric:
            return f"<array of shape {shape}>"
        return "[" + _join_texts([f"{x + 0.0:.6g}" for x in value[:MAX_ENTRIES].tolist()], shape[0]) + "]"
    if type(value) in (list, tuple):
        first, last = "[]" if type(value) is list else "()"
        return first + _join_texts([short_text(x) for x in value[:MAX_ENTRIES]], len(value)) + last
    if isinstance(value, Mapping):
        pairs = [f"{short_text(name)}: {short_text(x)}" for name, x in islice(value.items(), MAX_ENTRIES)]
        return "{" + _join_texts(pairs, len(value)) + "}"
    return repr(value[:LONGEST_VALUE]) if isinstance(value, str) else " ".join(repr(value).split())


def _join_texts(texts: list[str], count: int) -> str:
    return ", ".join([*texts, f"... {count - len(texts)} more"] if count > len(texts) else texts)


def _cells(texts: Iterable[str]) -> str:
    return "".join(f"<td>{html(text)}</td>" for text in texts)


def _truncate(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 3] + "..."
