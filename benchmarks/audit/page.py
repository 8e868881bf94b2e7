"""Tables and picture of the audit, from the file of results."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scenes import LAWS, Law

from fallingcat.visualization.svg import INK, document, text

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "simulator_audit.json"
PAGE = ROOT / "docs" / "simulator_audit.md"
PICTURE = ROOT / "docs" / "_static" / "simulator_audit.svg"
BEGIN, END = "<!-- audit: made by benchmarks/audit/run.py -->", "<!-- end of audit -->"
CELL, LEFT, TOP, ROW = 62, 200, 150, 24  # pixels
SHORT = {
    "fallingcat, hard": "fallingcat, hard",
    "fallingcat, compliant": "fallingcat, compliant",
    "fallingcat, hard, own step": "the same, its own step",
    "fallingcat, compliant, own step": "the same, its own step",
    "MuJoCo, implicitfast, elliptic cone, impratio 100": "MuJoCo, elliptic, impratio 100",
    "MuJoCo Warp, Euler (float32)": "MuJoCo Warp (float32)",
}
ORDER = ("fallingcat, hard", "fallingcat, compliant", "fallingcat, hard, own step", "fallingcat, compliant, own step")

Results = dict[str, dict[str, Any]]


def load() -> Results:
    kept: Results = json.loads(RESULTS.read_text(encoding="utf-8"))
    return {name: kept[name] for name in (*ORDER, *(each for each in kept if each not in ORDER))}


def differs(law: Law, value: float | str) -> bool:
    """Unproved is not passed: what could not be run does not hold either."""
    return isinstance(value, str) or not value <= law.tolerance


def shown(law: Law, value: float | str) -> str:
    if isinstance(value, str):
        return "not run"
    return f"**{value:.1e}**" if differs(law, value) else f"{value:.1e}"


def tables() -> Iterator[str]:
    """Our own differences first, then a row an engine, a column a law."""
    results = load()
    ours = [name for name in results if name.startswith("fallingcat")]
    missed = [(name, law) for name in ours for law in LAWS if differs(law, results[name]["laws"][law.name])]
    yield f"Ours that differ: {len(missed)} of {len(ours) * len(LAWS)} cells."
    yield ""
    for name, law in missed:
        value = results[name]["laws"][law.name]
        yield f"- {name}: {law.name}, {shown(law, value)} {unit(law)} (tolerance {law.tolerance:g})."
    for part in (LAWS[:7], LAWS[7:]):
        yield ""
        yield "| | " + " | ".join(law.name for law in part) + " |"
        yield "|---" * (len(part) + 1) + "|"
        yield "| tolerance | " + " | ".join(f"{law.tolerance:g} {unit(law)}".strip() for law in part) + " |"
        for name, row in results.items():
            cells = (shown(law, row["laws"][law.name]) for law in part)
            yield f"| {name} | " + " | ".join(cells) + " |"
    yield ""
    versions = sorted({f"{name.split(',')[0].split(' (')[0]} {row['version']}" for name, row in results.items()})
    yield f"Versions ({max(row['date'] for row in results.values())}): {', '.join(versions)}."


def unit(law: Law) -> str:
    return "" if law.unit == "1" else law.unit


def page(before: str) -> str:
    """The page with the tables of the results."""
    head, _, rest = before.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n\n" + "\n".join(tables()) + f"\n\n{END}{tail}"


def picture() -> str:
    """A field for each law and engine: green where it holds, the redder the farther it is beyond its tolerance."""
    results = load()
    names = [name for name in results if "own step" not in name]
    return document(LEFT + CELL * len(names) + 130, TOP + ROW * len(LAWS) + 40, _fields(results, names))


def _fields(results: Results, names: list[str]) -> Iterator[str]:
    for i, name in enumerate(names):
        x = LEFT + CELL * (i + 0.5)
        turned = f'transform="translate({x} {TOP - 10}) rotate(-35)"'
        yield text(0, 0, SHORT.get(name, name), "start", INK, more=turned)
    for k, law in enumerate(LAWS):
        y = TOP + ROW * k
        yield text(LEFT - 8, y + 16, law.name, "end", INK)
        for i, name in enumerate(names):
            value = results[name]["laws"][law.name]
            yield (
                f'<rect x="{LEFT + CELL * i + 1}" y="{y + 1}" width="{CELL - 2}" height="{ROW - 2}" '
                f'fill="{color(law, value)}"/>'
            )
            said = "-" if isinstance(value, str) else f"{value:.0e}"
            yield text(LEFT + CELL * (i + 0.5), y + 16, said, "middle", INK)
    yield text(LEFT, TOP + ROW * len(LAWS) + 24, "green: within the tolerance of the law; red: beyond it", "start", INK)


def color(law: Law, value: float | str) -> str:
    if isinstance(value, str):
        return "#dddddd"
    if not differs(law, value):
        return "#bfe5c7"
    decades = min(math.log10(value / law.tolerance), 4.0) / 4.0
    return f"rgb(250, {210 - round(90 * decades)}, {190 - round(90 * decades)})"


def write() -> None:
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    PICTURE.write_text(picture(), encoding="utf-8")
