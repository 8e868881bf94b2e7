"""Write coverage.md from the tables under src/fallingcat/studies/coverage: `python docs/make_coverage.py`."""

from __future__ import annotations

from pathlib import Path

from fallingcat.studies.coverage_table import STATES, Row, counts, documents, key, listed, rows

PAGE = Path(__file__).parent / "coverage.md"
INTRODUCTION = """\
# Coverage of the five documents

*When would I use this?* When you read one of the [five documents](references.md) and want the function that computes an
equation.

Made from the tables in `src/fallingcat/studies/coverage` by `docs/make_coverage.py`. A test walks them: every numbered
item is there once; every function and command that is named exists; every test that is named exists and asserts
something, so that a row whose check is removed fails. *(misprinted)* means that
[the errata](theory/errata.md) correct it."""


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
    tests = [f"`{test.rpartition('::')[2]}`" for test in listed(row.tests)]
    return [row.items, row.about, row.state, ", ".join(f"`{shown(call)}`" for call in row.calls), ", ".join(tests)]


def shown(call: str) -> str:
    """A call as a user writes it."""
    if call.startswith("tests/"):
        return call.replace("::", ": ")
    return f"fallingcat {call}" if " " in call else f"fc.{call}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
