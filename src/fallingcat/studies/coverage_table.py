"""Items of the source documents that the library computes: the tables under coverage/.

A row says of some items of a document what they are about, in which state the library has them, the functions and
commands, and the tests that hold them.  ``documents.toml`` lists all items of each document.
"""

from __future__ import annotations

import csv
import re
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent / "coverage"
STATES = {
    "works": "a function or command computes it",
    "oracle": "only the tests compute it, as an independent oracle",
    "missing": "not done yet",
    "not code": "prose: a notation, a picture, a step of a derivation whose result has its own row",
}
ROMAN = ("I", "II", "III", "IV", "V", "VI")


class Row(NamedTuple):
    """One line of a table."""

    items: str
    about: str
    state: str
    code: str
    tests: str

    @property
    def calls(self) -> list[str]:
        """Names of the library, `tests/...::function` of oracles, and commands without their first word."""
        return split_list(self.code)


def split_list(text: str) -> list[str]:
    """Parts of a text between semicolons."""
    return [part.strip() for part in text.split(";") if part.strip()]


def rows(document: str) -> list[Row]:
    """The table of a document."""
    with (FOLDER / f"{document}.csv").open(encoding="utf-8", newline="") as file:
        return [Row(**row) for row in csv.DictReader(file)]


def documents() -> dict[str, list[str]]:
    """Items of each document, one by one."""
    return {name: [item for text in found["items"] for item in expanded(text)] for name, found in _table().items()}


def key(document: str) -> str:
    """Key by which the library cites a document."""
    return str(_table()[document]["key"])


def _table() -> dict[str, Any]:
    return tomllib.loads((FOLDER / "documents.toml").read_text(encoding="utf-8"))


def expanded(text: str) -> list[str]:
    """The items of a range: `(2.1)-(2.3)`, `Lemma 2.3-2.5`, `EXP revolute I-III`; anything else is one item."""
    pattern = r"(?P<kind>.*?)(?P<a>\(?[\w.]*?)(?P<first>\d+|[IV]+)\)?-(?P<b>\(?[\w.]*?)(?P<last>\d+|[IV]+)\)?"
    found = re.fullmatch(pattern, text)
    if not found or found["a"] != found["b"]:
        return [text]
    end = ")" if found["a"].startswith("(") else ""
    first, last = found["first"], found["last"]
    if first in ROMAN:
        return [f"{found['kind']}{found['a']}{n}{end}" for n in ROMAN[ROMAN.index(first) : ROMAN.index(last) + 1]]
    return [f"{found['kind']}{found['a']}{n}{end}" for n in range(int(first), int(last) + 1)]


def items(row: Row) -> list[str]:
    """All items of a row."""
    return [item for text in split_list(row.items) for item in expanded(text)]


def counts() -> dict[str, dict[str, int]]:
    """State: document: how many items.

    >>> counts()["missing"]["mishra"]
    0
    """
    return {
        state: {name: sum(len(items(row)) for row in rows(name) if row.state == state) for name in documents()}
        for state in STATES
    }
