"""Write coverage.md from the tables under src/fallingcat/studies/coverage: `python docs/make_coverage.py`."""

from __future__ import annotations

from pathlib import Path

from fallingcat.studies.coverage_table import STATES, Row, counts, documents, key, rows, split_list

PAGE = Path(__file__).parent / "coverage.md"
INTRODUCTION = """\
# Coverage of the reference documents

The function or command for each numbered equation, lemma, table, figure and experiment of the reference documents
[Feurstein], [Mishra], [ETH], [From] and [Traversaro] ([sources](references.md)).

Every item that a function, a command or an oracle computes is evaluated by a test. The modules `documents/test_*.py`
compare the left side of each equation with its right side, by its number; other tests name their items in their
docstrings. `tests/test_coverage.py` fails if a check is removed, renamed or asserts nothing, and if an item has none.
Rows marked *(misprinted)* are corrected in [the errata](theory/errata.md), whose tests evaluate them. The tables are in
`src/fallingcat/studies/coverage`; `docs/make_coverage.py` writes this page."""


def page() -> str:
    """The text of coverage.md."""
    lines = [
        *INTRODUCTION.splitlines(),
        "",
        "| state | meaning | " + " | ".join(f"[{key(name)}]" for name in documents()) + " |",
        "|---|---" + "|---:" * len(documents()) + "|",
    ]
    for state, meaning in STATES.items():
        lines.append(f"| {state} | {meaning} | " + " | ".join(map(str, counts()[state].values())) + " |")
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
    tests = [f"`{evaluates(test)}`" for test in split_list(row.tests)]
    return [row.items, row.about, row.state, ", ".join(f"`{shown(call)}`" for call in row.calls), ", ".join(tests)]


def evaluates(test: str) -> str:
    """A test, or the module of printed equations."""
    path, _, name = test.partition("::")
    return path if name == "test_equations" else name


def shown(call: str) -> str:
    """A call as a user writes it."""
    if call.startswith("tests/"):
        return call.replace("::", ": ")
    return f"fallingcat {call}" if " " in call else f"fc.{call}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
