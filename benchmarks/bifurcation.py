"""[Feurstein] EXP V: "the transition from chaotic movement to the stable gait", over K_E and the initial height.

python benchmarks/bifurcation.py                     # 500 values of each parameter: 4.4 minutes of processor time
python benchmarks/bifurcation.py --draw              # the figure of the numbers that are there

For each value EXP V is run for 40 s; each hop of the last quarter is a dot at the height of its apex.  One dot per
value: a stationary gait; two, four: a gait of as many hops; a cloud: none.  Values without dots fell.  The middle panel
has 91 values (`--only cascade --points 91`).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import fallingcat as fc
from fallingcat.studies.hoppers import Observed
from fallingcat.studies.hoppers.hopper import simulated_together
from fallingcat.studies.hoppers.parameters import HopperParameters
from fallingcat.visualization.svg import EDGE, INK, document, text, ticks

HERE = Path(__file__).parent
RESULT, FIGURE = HERE / "results" / "bifurcation.json", HERE.parent / "docs" / "_static" / "bifurcation.svg"


class Axis(NamedTuple):
    """A parameter that is varied, from where to where, and how long each run lasts (s)."""

    parameter: str
    low: float
    high: float
    label: str
    duration: float = 40.0


AXES = {
    "K_E": Axis("K_E", 0.0, 30.0, "gain of the energy controller (s/m²)"),
    "cascade": Axis("K_E", 10.0, 11.8, "the same, from 10 to 11.8"),
    "y": Axis("y", 0.2, 0.5, "initial height of the base (m)"),
}
LATE = 0.25
"""Share of a run whose hops are drawn"""
TOGETHER = {"cpu": 16, "cuda": 256}
COLORS = {"forward": "#1f6fd0", "back": "#c44e14"}
PANEL, LEFT, TOP, ROOM = (330.0, 250.0), 50.0, 40.0, 60.0


def parameters(axis: Axis, value: float) -> HopperParameters:
    """EXP V with one other number, as a plain run."""
    changes = {"duration": axis.duration, "basin_hops": 0, axis.parameter: value}
    p = fc.studies.load("revolute-5").with_parameters(changes).parameters
    return HopperParameters.model_validate({k: v for k, v in p.model_dump().items() if not k.startswith("basin")})


def apexes(run: Any, p: HopperParameters) -> list[tuple[float, float]]:
    """Height of the base (m) and step (m) of the last hops; nothing where the base was below the floor."""
    if isinstance(run, Exception) or run.times[-1] < 0.999 * p.duration or run.poses[:, 1, 3].min() <= 0.0:
        return []
    seen = Observed(run, p)
    late = [hop for hop in seen.hops if seen.times[hop.start] > (1.0 - LATE) * p.duration]
    states = [seen.apex(hop) for hop in late]
    steps = np.diff([float(state.pose[0, 3]) for state in states])
    return [(round(float(state.pose[1, 3]), 6), round(float(d), 6)) for state, d in zip(states, steps, strict=False)]


def scanned(name: str, points: int, target: str) -> list[dict[str, Any]]:
    """All values of one parameter."""
    axis = AXES[name]
    values, rows = np.linspace(axis.low, axis.high, points).tolist(), []
    for first in range(0, points, TOGETHER[target]):
        some = values[first : first + TOGETHER[target]]
        each = [parameters(axis, value) for value in some]
        for value, p, run in zip(some, each, simulated_together(each, target), strict=True):
            rows.append({"value": round(value, 6), "apexes": apexes(run, p)})
        print(f"{name}: {len(rows)} of {points}", flush=True)
    return rows


def figure(found: dict[str, Sequence[dict[str, Any]]]) -> str:
    """The diagrams side by side; blue: hops forward, orange: back."""
    width = round(LEFT + len(found) * (PANEL[0] + ROOM))
    parts = [
        text(LEFT, 18.0, "height of the base at the apex of each hop of the last quarter of a run (m)", "start", INK)
    ]
    for k, color in enumerate(COLORS):
        parts.append(f'<circle cx="{LEFT + 470 + 120 * k}" cy="14" r="3" fill="{COLORS[color]}"/>')
        parts.append(text(LEFT + 478 + 120 * k, 18.0, f"hops {color}", "start"))
    for k, (name, rows) in enumerate(found.items()):
        parts += panel(LEFT + k * (PANEL[0] + ROOM), name, rows)
    return document(width, round(TOP + PANEL[1] + 50.0), parts)


def panel(left: float, name: str, rows: Sequence[dict[str, Any]]) -> list[str]:
    _, low, high, label, _ = AXES[name]
    tops = [y for row in rows for y, _ in row["apexes"]] or [0.0, 1.0]
    bottom, top = min(tops) - 0.01, max(tops) + 0.01
    x = lambda v: left + PANEL[0] * (v - low) / (high - low)  # noqa: E731
    y = lambda v: TOP + PANEL[1] * (1.0 - (v - bottom) / (top - bottom))  # noqa: E731
    out = [f'<rect x="{left}" y="{TOP}" width="{PANEL[0]}" height="{PANEL[1]}" fill="none" stroke="{EDGE}"/>']
    for name, color in COLORS.items():  # a stationary gait is one dot, not one for each hop
        hops = [(row["value"], *hop) for row in rows for hop in row["apexes"]]
        dots = {f"M{x(v):.1f} {y(height):.1f}h0" for v, height, step in hops if (step > 0.0) == (name == "forward")}
        path = "".join(sorted(dots))
        out.append(f'<path d="{path}" stroke="{color}" stroke-width="1.8" stroke-linecap="round"/>')
    out += [text(x(v), TOP + PANEL[1] + 15.0, f"{v:g}") for v in ticks(low, high, 6)]
    out += [text(left - 5.0, y(v) + 4.0, f"{v:g}", "end") for v in ticks(bottom, top, 5)]
    return [*out, text(left + 0.5 * PANEL[0], TOP + PANEL[1] + 34.0, label)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=500, help="values of each parameter")
    parser.add_argument("--target", choices=sorted(TOGETHER), default="cpu")
    parser.add_argument("--out", type=Path, default=FIGURE, help="the figure; its numbers lie in benchmarks/results")
    parser.add_argument("--only", choices=sorted(AXES), help="run one of the diagrams anew, keep the others")
    parser.add_argument("--draw", action="store_true", help="run nothing: draw the numbers of the last run")
    given = parser.parse_args()
    found = json.loads(RESULT.read_text())["rows"] if given.draw or given.only else {}
    if not given.draw:
        found |= {name: scanned(name, given.points, given.target) for name in ([given.only] if given.only else AXES)}
        found = {name: found[name] for name in AXES}
        RESULT.write_text(json.dumps({"target": given.target, "rows": found}) + "\n")
    given.out.write_text(figure(found), encoding="utf-8")


if __name__ == "__main__":
    main()
