"""The table of features and the evidence of its cells, made from ``results/features.json``."""

from __future__ import annotations

from pathlib import Path

from features import FEATURES, LIBRARIES
from readme_tables import load

PAGE = Path(__file__).parents[1] / "docs" / "features.md"
MARKS = {"yes": "yes", "part": "in part", "no": "-"}
ABOUT = """# Feature comparison with other libraries

Features of libraries for the equations of motion of floating-base robots, each cell against the release that is named
below with its date. `benchmarks/features.py` makes the table: "yes" and "in part" name something that was imported from
the installed library; "-" means that no public name of it contains one of the words of that row. The table does not
rate quality, and leaves out what these libraries have and this one does not (cameras, soft bodies, muscles, optimisers,
C++). Packages around them are not counted: pink and TSID bring inverse kinematics and whole-body control to Pinocchio,
mink to MuJoCo.
"""


def table() -> list[str]:
    """One row for each feature, one column for each library."""
    columns = load("features")
    known = [name for name in LIBRARIES if name in columns]
    lines = [f"| | fallingcat | {' | '.join(known)} |", "|---" * (2 + len(known)) + "|"]
    for feature in FEATURES:
        marks = (MARKS[columns[name]["cells"][feature.what]["mark"]] for name in known)
        lines.append(f"| {feature.what} | yes | {' | '.join(marks)} |")
    return lines


def page() -> str:
    """For the documentation: the table, and what each cell rests on."""
    columns = load("features")
    lines = [ABOUT, *table()]
    for name, library in LIBRARIES.items():
        if name in columns:
            column = columns[name]
            lines += ["", f"## {name} {column['version']}".rstrip(), ""]
            lines += [f"Looked at on {column['date']}; [documentation]({library.documentation}).", ""]
            lines += ["| | | evidence |", "|---|---|---|"]
            lines += [
                f"| {what} | {MARKS[cell['mark']]} | {_shown(cell['evidence'])} |"
                for what, cell in column["cells"].items()
            ]
    return "\n".join(lines) + "\n"


def _shown(evidence: str) -> str:
    name, colon, missing = evidence.partition(": ")
    if evidence.startswith(("http", "no public")):
        return f"<{evidence}>" if evidence.startswith("http") else evidence
    return f"`{name}`{colon}{missing}"
