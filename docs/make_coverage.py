"""Write coverage.md from the tables under coverage/: `python docs/make_coverage.py`.

A row says of some items of a document what they are about, in which state the library has them, the functions and
commands, and the tests that hold them.  `documents.toml` lists all items of each document.
"""

from __future__ import annotations

import csv
import re
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent / "coverage"
PAGE = FOLDER.with_suffix(".md")
STATES = {
    "works": "a function or command computes it",
    "oracle": "only the tests compute it, as an independent oracle",
    "missing": "not done yet",
    "not code": "prose: a notation, a picture, a step of a derivation whose result has its own row",
}
INTRODUCTION = """\
# Coverage of the five documents

*When would I use this?* When you read one of the [five documents](references.md) and want the function that computes an
equation.

Made from the tables in `docs/coverage/` by `docs/make_coverage.py`. A test walks them: every numbered item is there
once; every function, command and test that is named exists. *(misprinted)* means that [the errata](theory/errata.md)
correct it."""
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
        return listed(self.code)


def listed(text: str) -> list[str]:
    """What semicolons separate."""
    return [part.strip() for part in text.split(";") if part.strip()]


def rows(document: str) -> list[Row]:
    """The table of a document."""
    with (FOLDER / f"{document}.csv").open(encoding="utf-8", newline="") as file:
        return [Row(**row) for row in csv.DictReader(file)]


def documents() -> dict[str, list[str]]:
    """All items of each document, one by one."""
    return {name: [item for text in found["items"] for item in expanded(text)] for name, found in _table().items()}


def key(document: str) -> str:
    """How the library cites it."""
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
    return [item for text in listed(row.items) for item in expanded(text)]


def page() -> str:
    """The text of coverage.md."""
    lines = [
        *INTRODUCTION.splitlines(),
        "",
        "| state | meaning | " + " | ".join(f"[{key(name)}]" for name in documents()) + " |",
        "|---|---" + "|---:" * len(documents()) + "|",
    ]
    for state, meaning in STATES.items():
        counts = [sum(len(items(row)) for row in rows(name) if row.state == state) for name in documents()]
        lines.append(f"| {state} | {meaning} | " + " | ".join(map(str, counts)) + " |")
    for name in documents():
        lines += [
            "",
            f"## [{key(name)}]",
            "",
            "| items | about | state | function or command | test |",
            "|---|---|---|---|---|",
        ]
        lines += ["| " + " | ".join(cells(row)) + " |" for row in rows(name)]
    return "\n".join(lines) + "\n"


def cells(row: Row) -> list[str]:
    """A row as the page shows it."""
    tests = [f"`{test.rpartition('::')[2]}`" for test in listed(row.tests)]
    return [row.items, row.about, row.state, ", ".join(f"`{shown(call)}`" for call in row.calls), ", ".join(tests)]


def shown(call: str) -> str:
    """A call as a user writes it."""
    if call.startswith("tests/"):
        return call.replace("::", ": ")
    return f"fallingcat {call}" if " " in call else f"fc.{call}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
