"""[Feurstein] EXP V: "the transition from chaotic movement to the stable gait", over K_E and the initial height.

python benchmarks/bifurcation.py --points 81                       # on this processor, minutes
python benchmarks/bifurcation.py --points 2000 --target cuda       # on a machine with a GPU and CuPy

For each value EXP V is run for 40 s; each hop of the last 10 s is a dot at the height of its apex.  One dot per value:
a stationary gait; some: a gait of several hops; a cloud: no gait was found in that time.  Values without dots fell.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import fallingcat as fc
from fallingcat.studies.hoppers import Observed
from fallingcat.studies.hoppers.hopper import simulated_together
from fallingcat.studies.hoppers.parameters import HopperParameters
from fallingcat.visualization.figures import EDGE, INK, document, text, ticks

HERE = Path(__file__).parent
RESULT, FIGURE = HERE / "results" / "bifurcation.json", HERE.parent / "docs" / "_static" / "bifurcation.svg"
DURATION, LATE = 40.0, 10.0
AXES = {"K_E": (0.0, 30.0, "gain of the energy controller (s/m²)"), "y": (0.2, 0.5, "initial height of the base (m)")}
TOGETHER = {"cpu": 16, "cuda": 256}
COLORS = {"forward": "#1f6fd0", "back": "#c44e14"}
PANEL, LEFT, TOP, ROOM = (430.0, 250.0), 60.0, 40.0, 70.0


def parameters(changes: dict[str, Any]) -> HopperParameters:
    """EXP V with other numbers, as a plain run."""
    p = fc.studies.load("revolute-5").with_parameters({"duration": DURATION, "basin_hops": 0} | changes).parameters
    return HopperParameters.model_validate({k: v for k, v in p.model_dump().items() if not k.startswith("basin")})


def apexes(run: Any, p: HopperParameters) -> list[tuple[float, float]]:
    """Height of the base (m) and step (m) of the last hops; nothing where the base was below the floor."""
    if isinstance(run, Exception) or run.times[-1] < 0.999 * p.duration or run.poses[:, 1, 3].min() <= 0.0:
        return []
    seen = Observed(run, p)
    late = [hop for hop in seen.hops if seen.times[hop.start] > p.duration - LATE]
    states = [seen.apex(hop) for hop in late]
    steps = np.diff([float(state.pose[0, 3]) for state in states])
    return [(float(state.pose[1, 3]), float(d)) for state, d in zip(states, steps, strict=False)]


def scanned(name: str, points: int, target: str) -> list[dict[str, Any]]:
    """All values of one parameter."""
    values, rows = np.linspace(*AXES[name][:2], points).tolist(), []
    for first in range(0, points, TOGETHER[target]):
        some = values[first : first + TOGETHER[target]]
        each = [parameters({name: value}) for value in some]
        for value, p, run in zip(some, each, simulated_together(each, target), strict=True):
            rows.append({"value": value, "apexes": apexes(run, p)})
        print(f"{name}: {len(rows)} of {points}", flush=True)
    return rows


def figure(found: dict[str, Sequence[dict[str, Any]]]) -> str:
    """Both diagrams side by side; blue: hops forward, orange: back."""
    width = round(LEFT + 2.0 * (PANEL[0] + ROOM))
    parts = [text(LEFT, 18.0, "height of the base at the apex of each hop of the last 10 s of 40 (m)", "start", INK)]
    for k, color in enumerate(COLORS):
        parts.append(f'<circle cx="{LEFT + 470 + 120 * k}" cy="14" r="3" fill="{COLORS[color]}"/>')
        parts.append(text(LEFT + 478 + 120 * k, 18.0, f"hops {color}", "start"))
    for k, (name, rows) in enumerate(found.items()):
        parts += panel(LEFT + k * (PANEL[0] + ROOM), name, rows)
    return document(width, round(TOP + PANEL[1] + 50.0), parts)


def panel(left: float, name: str, rows: Sequence[dict[str, Any]]) -> list[str]:
    low, high, label = AXES[name]
    tops = [y for row in rows for y, _ in row["apexes"]] or [0.0, 1.0]
    bottom, top = min(tops) - 0.01, max(tops) + 0.01
    x = lambda v: left + PANEL[0] * (v - low) / (high - low)  # noqa: E731
    y = lambda v: TOP + PANEL[1] * (1.0 - (v - bottom) / (top - bottom))  # noqa: E731
    out = [f'<rect x="{left}" y="{TOP}" width="{PANEL[0]}" height="{PANEL[1]}" fill="none" stroke="{EDGE}"/>']
    for row in rows:
        for height, step in row["apexes"]:
            color = COLORS["forward" if step > 0.0 else "back"]
            out.append(f'<circle cx="{x(row["value"]):.1f}" cy="{y(height):.1f}" r="1.3" fill="{color}"/>')
    out += [text(x(v), TOP + PANEL[1] + 15.0, f"{v:g}") for v in ticks(low, high, 6)]
    out += [text(left - 5.0, y(v) + 4.0, f"{v:g}", "end") for v in ticks(bottom, top, 5)]
    return [*out, text(left + 0.5 * PANEL[0], TOP + PANEL[1] + 34.0, label)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=81, help="values of each parameter")
    parser.add_argument("--target", choices=sorted(TOGETHER), default="cpu")
    parser.add_argument("--out", type=Path, default=FIGURE, help="the figure; its numbers lie in benchmarks/results")
    given = parser.parse_args()
    found = {name: scanned(name, given.points, given.target) for name in AXES}
    RESULT.write_text(json.dumps({"points": given.points, "target": given.target, "rows": found}) + "\n")
    given.out.write_text(figure(found), encoding="utf-8")


if __name__ == "__main__":
    main()
