"""Pictures of two maps, as SVG: pushes from which a quadruped recovers, and times in which an astronaut turns.

python benchmarks/maps.py                                # from results/push_basin.json and results/astronaut_map.csv
python benchmarks/maps.py --table astronaut-turn.zarr    # writes that table from the store of the sweep first
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fallingcat.visualization.svg import EDGE, INK, SOFT, color, document, path, text, ticks

HERE = Path(__file__).resolve().parent
RESULTS, PICTURES = HERE / "results", HERE.parent / "docs" / "_static"
PAGE = HERE.parent / "docs" / "explanation" / "push_basin.md"
BEGIN, END = "<!-- numbers: python benchmarks/maps.py -->\n", "<!-- end -->"
TABLE = RESULTS / "astronaut_map.csv"
COLUMNS = ("axis", "angle", "x", "y", "z", "cycles", "effort", "time", "missed", "spin", "torque", "speed")
COLORS = ("#1f6fd0", "#c44e14", "#2e8b57", "#8e4bb8", "#b8860b", "#5c6678")


# pushes ---------------------------------------------------------------------------------------------------------------


def push_basin(result: dict[str, Any]) -> str:
    """Share of recoveries by direction and strength of the first controller, and by strength of all."""
    rows = result["controllers"]
    return document(900, 430, [*polar(*next(iter(rows.items()))), *shares(rows)])


def counts(row: dict[str, Any], name: str) -> np.ndarray:
    """``directions x strengths x phases``"""
    shape = [row["grid"][axis] for axis in ("directions", "strengths", "phases")]
    return np.array(row[name] or np.zeros(np.prod(shape))).reshape(shape)


def share(row: dict[str, Any], axes: tuple[int, ...]) -> np.ndarray:
    """Share of pushes that are recovered from, over the other axes."""
    total = sum(counts(row, name).sum(axis=axes) for name in ("recovered", "fallen", "undecided"))
    return np.asarray(counts(row, "recovered").sum(axis=axes) / np.maximum(total, 1))


def polar(name: str, row: dict[str, Any]) -> Iterator[str]:
    """Disc of pushes: up is ahead, left is to the left; the farther from the middle, the stronger."""
    shares, center, size = share(row, (2,)), np.array([215.0, 225.0]), 165.0
    count, strengths = shares.shape
    yield text(215, 26, f"Recoveries: {name}, by direction and strength", fill=INK, more='font-weight="600"')
    for d in range(count):
        for s in range(strengths):
            corners = []
            for r, a in ((s, d), (s, d + 1), (s + 1, d + 1), (s + 1, d)):
                angle = 2.0 * np.pi * a / count
                corners.append(center + size * r / strengths * np.array([-np.sin(angle), -np.cos(angle)]))
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
            fill = color(1.0 - 2.0 * shares[d, s])
            yield f'<polygon points="{points}" fill="{fill}" stroke="{fill}" stroke-width="0.4"/>'
    for part in (0.25, 0.5, 0.75, 1.0):
        x, y = center
        yield f'<circle cx="{x}" cy="{y}" r="{part * size:.1f}" fill="none" stroke="{INK}" stroke-width="0.5"/>'
        yield text(x + 4, y - part * size + 12, f"{part * row['grid']['strongest']:g} m/s", "start", INK)
    for words, x, y in (("ahead", 215, 52), ("back", 215, 406), ("left", 28, 229), ("right", 403, 229)):
        yield text(x, y, words)
    yield text(215, 424, "blue: recovers, orange: falls; mean over all phases of the gait")


def shares(rows: dict[str, Any]) -> Iterator[str]:
    """Lines of all controllers over the strength."""
    left, right, top, bottom = 480.0, 880.0, 50.0, 380.0
    strongest = max(row["grid"]["strongest"] for row in rows.values())
    yield text(680, 26, "Share of pushes that are recovered from", fill=INK, more='font-weight="600"')
    for value in ticks(0.0, 1.0, 5):
        y = bottom - value * (bottom - top)
        yield path([[left, y], [right, y]], EDGE, 1.0)
        yield text(left - 6, y + 4, f"{100 * value:.0f} %", "end")
    for value in ticks(0.0, strongest, 4):
        yield text(left + value / strongest * (right - left), bottom + 18, f"{value:g}")
    yield text(680, 416, "change of velocity (m/s)")
    for k, (name, row) in enumerate(rows.items()):
        seen = share(row, (0, 2))
        x = left + (np.arange(len(seen)) + 0.5) / len(seen) * row["grid"]["strongest"] / strongest * (right - left)
        yield path(np.stack([x, bottom - seen * (bottom - top)], axis=1), COLORS[k % len(COLORS)], 2.0)
        words = f"{name}: {row['mean tolerated push (m/s)']:.2f} m/s"
        yield text(right - 4, top + 14 + 17 * k, words, "end", COLORS[k % len(COLORS)])


def numbers(result: dict[str, Any]) -> Iterator[str]:
    """Table of all controllers, and what the checks found."""
    yield f"Measured on: {result['machine']} ({result['target']})."
    yield ""
    yield "| controller | pushes | recovered | mean tolerated push | in short steps | all cells 99 % below |"
    yield "|---|---|---|---|---|---|"
    for name, row in result["controllers"].items():
        part = 100.0 * row["outcomes"]["recovered"] / row["pushes"]
        finer = row.get("check", {}).get("mean tolerated push (m/s)")
        short = "not checked" if finer is None else f"{finer:.2f} m/s"
        tolerated, safe = row["mean tolerated push (m/s)"], row["99 % recover in every cell below (m/s)"]
        yield f"| `{name}` | {row['pushes']:,} | {part:.1f} % | {tolerated:.3f} m/s | {short} | {safe:.2g} m/s |"
    yield ""
    yield "`policy:0.5` is the sample policy at a commanded speed of 0.5 m/s, `servos:60` servos of 60 N m/rad that"
    yield "hold the posture."
    name, row = next(iter(result["controllers"].items()))
    rate = row["contact steps per s"]
    yield f"The map of `{name}` took {row['seconds']:.0f} s: {rate:.2g} steps of a robot per second."
    if "check" in row:
        yield from checks(row["check"])


def checks(c: dict[str, Any]) -> Iterator[str]:
    """What the check of the first controller found."""
    yield f"Of {c['pushes']:,} pushes in as many of its cells {c['same outcome']:,} have the same outcome in short"
    yield "steps;"
    yield f"in cells where more than 99 % recover {c['same outcome there']:,} of"
    yield f"{c['cells where more than 99 % recover']:,} recover, and in cells where less than 1 % does"
    yield f"{c['same outcome in these']:,} of {c['cells where less than 1 % recovers']:,} fall."
    yield f"Of {c['recovered after one stride']:,} that recovered {c['and not after the longer look']:,} fall or leave"
    yield f"the gait within {c['strides of a longer look']} strides."


def write_page(result: dict[str, Any]) -> None:
    """Numbers on the page, between two comments."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + BEGIN + "\n" + "\n".join(numbers(result)) + "\n\n" + END + after)


# astronaut ------------------------------------------------------------------------------------------------------------


def table(store: str) -> None:
    """Table of the runs of a sweep that are done."""
    import xarray

    with xarray.open_zarr(store) as data, TABLE.open("w", newline="") as file:
        flat = data.to_dataframe().reset_index()
        flat = flat[flat["done"].astype(bool) & ~flat["failed"].astype(bool)].sort_values(["angle", "axis"])
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([f"{value:.6g}" for value in row] for row in flat[list(COLUMNS)].to_numpy(dtype=float))


def astronaut(rows: np.ndarray) -> str:
    """One panel for each angle: longitude and height of the axis, the time as color."""
    angles = np.unique(rows[:, 1])
    times = np.log10(rows[:, COLUMNS.index("time")])
    low, high = times.min(), times.max()
    width = 40 + 300 * len(angles)
    return document(width, 250, [*panels(rows, angles, times, low, high), *legend(width, low, high)])


def panels(rows: np.ndarray, angles: np.ndarray, times: np.ndarray, low: float, high: float) -> Iterator[str]:
    """Dots of all axes."""
    for k, angle in enumerate(angles):
        left, top, wide, tall = 50 + 300 * k, 40, 250, 140
        here = rows[:, 1] == angle
        yield text(left + wide / 2, 26, f"turn by {angle:g} deg", fill=INK, more='font-weight="600"')
        yield f'<rect x="{left}" y="{top}" width="{wide}" height="{tall}" fill="none" stroke="{EDGE}"/>'
        for row, time in zip(rows[here], times[here], strict=True):
            x, y, z = row[2:5]
            across, up = 0.5 - np.arctan2(y, x) / (2.0 * np.pi), 0.5 * (1.0 - z)
            fill = color(2.0 * (time - low) / (high - low) - 1.0)
            place = f'cx="{left + across * wide:.1f}" cy="{top + up * tall:.1f}"'
            yield f'<circle {place} r="6" fill="{fill}" stroke="{SOFT}" stroke-width="0.5"/>'
        for words, part in (("back", 0.0), ("left", 0.25), ("ahead", 0.5), ("right", 0.75), ("back", 1.0)):
            yield text(left + part * wide, top + tall + 16, words)
        if k == 0:
            yield text(left - 6, top + 8, "up", "end")
            yield text(left - 6, top + tall, "down", "end")


def legend(width: int, low: float, high: float) -> Iterator[str]:
    """Colors of times."""
    yield text(50, 232, "axis of the turn, in the frame of the pelvis; color: least time of the gait", "start")
    for k, value in enumerate(np.linspace(low, high, 6)):
        x = width - 330 + 55 * k
        fill = color(2.0 * (value - low) / (high - low) - 1.0)
        yield f'<circle cx="{x}" cy="228" r="6" fill="{fill}" stroke="{SOFT}" stroke-width="0.5"/>'
        yield text(x + 10, 232, f"{10**value:.2g} s", "start")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", help="store of the sweep of astronaut-turn")
    options = parser.parse_args()
    if options.table:
        table(options.table)
    found = json.loads((RESULTS / "push_basin.json").read_text())
    (PICTURES / "push_basin.svg").write_text(push_basin(found))
    write_page(found)
    rows = np.genfromtxt(TABLE, delimiter=",", skip_header=1)
    (PICTURES / "astronaut_map.svg").write_text(astronaut(rows))


if __name__ == "__main__":
    main()
