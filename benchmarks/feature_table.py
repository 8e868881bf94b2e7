"""The table of features and the evidence of its cells, made from ``results/features.json``."""

from __future__ import annotations

from pathlib import Path

from features import FEATURES, LIBRARIES
from readme_tables import load

PAGE = Path(__file__).parents[1] / "docs" / "features.md"
MARKS = {"yes": "yes", "part": "in part", "no": "-"}
ABOUT = """# Feature comparison with other libraries

Features of libraries for the dynamics of floating-base robots. Below the table, each library has a section with its
release, the date, and the evidence of each cell. `benchmarks/features.py` makes the table from installed libraries:
"yes" and "in part" name something that was imported; "-" means that no public name contains one of the words of that
row.

The table does not rate quality, and leaves out what these libraries have and this one does not (cameras, soft bodies,
general mathematical programs, C++). Add-on packages are not counted: pink and TSID add inverse kinematics and
whole-body control to Pinocchio, mink adds inverse kinematics to MuJoCo. """


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
            lines += [
                f"{column['date']}; [documentation]({library.documentation}).",
                *filter(None, [library.newer]),
                "",
            ]
            lines += ["| feature | | evidence |", "|---|---|---|"]
            lines += [
                f"| {what} | {MARKS[cell['mark']]} | {_shown(cell['evidence'])} |"
                for what, cell in column["cells"].items()
            ]
    return "\n".join(lines) + "\n"


def _shown(evidence: str) -> str:
    name, colon, missing = evidence.partition(": ")
    if evidence.startswith("no "):
        return evidence
    return (f"<{name}>" if evidence.startswith("http") else f"`{name}`") + colon + missing
