"""Draw the pictures of README.md and of these pages: `pip install matplotlib`, then `python docs/make_pictures.py`."""

from __future__ import annotations

import json
import runpy
from itertools import pairwise
from pathlib import Path

import matplotlib
import numpy as np

import fallingcat as fc
from fallingcat.planning.gaits.orbital_example import orbital_example, surfaces, volume

matplotlib.use("Agg")
from matplotlib import pyplot as plt

FOLDER = Path(__file__).parent / "_static"
ROLL = 3  # the entry of a twist [v; w] that turns about x, the long axis of the cat


def roll_curvature(cat: fc.Model, z: float, y: float) -> float:
    """Turn about the long axis (rad) per area (rad²) of a small anticlockwise gait at the spine angles z, y."""
    return -float(fc.curvature(cat, cat.state(joints=[z, y]), [1.0, 0.0], [0.0, 1.0])[ROLL])


def turned(cat: fc.Model, bend: float, steps: int = 2000) -> float:
    """Turn (rad) about the long axis after: bend, carry the bend once around, straighten; with no momentum."""
    s = np.linspace(0.0, 2.0 * np.pi, steps + 1)
    out = np.linspace(0.0, bend, 1 + steps // 10)[:, None] * np.array([1.0, 0.0])
    around = bend * np.stack([np.cos(s), np.sin(s)], axis=1)
    path = np.concatenate([out, around[1:], out[::-1][1:]])
    G, pose = cat.base, np.eye(4)
    for a, b in pairwise(path):
        pose = pose @ G.exp(-fc.connection(cat, cat.state(joints=0.5 * (a + b))) @ (b - a))
    return float(G.log(pose)[ROLL])


def swept(cat: fc.Model, bend: float, rings: int = 16, spokes: int = 32) -> float:
    """The integral (rad) of the map over the disk of radius `bend`: what the gait turns, to leading order."""
    nodes, weights = np.polynomial.legendre.leggauss(rings)
    angles = 2.0 * np.pi * np.arange(spokes) / spokes
    total = 0.0
    for node, weight in zip(nodes, weights, strict=True):
        r = 0.5 * bend * (node + 1.0)
        ring = np.mean([roll_curvature(cat, r * np.cos(a), r * np.sin(a)) for a in angles])
        total += 0.5 * bend * weight * 2.0 * np.pi * r * float(ring)
    return total


def curvature_map(path: Path) -> None:
    """The curvature of the two-cylinder cat over its two spine angles, and the gaits that its docstring speaks of."""
    cat = fc.robots.two_cylinder_cat()
    angles = np.linspace(-np.pi / 2, np.pi / 2, 73)
    values = np.array([[roll_curvature(cat, z, y) for z in angles] for y in angles])
    figure, axes = plt.subplots(figsize=(6.4, 4.8), layout="constrained")
    degrees = np.degrees(angles)
    filled = axes.contourf(degrees, degrees, values, levels=np.linspace(0.0, 2.2, 23), cmap="viridis")
    figure.colorbar(
        filled, label="turn about the long axis per area of gait (rad / rad²)", ticks=np.arange(0, 2.3, 0.4)
    )
    circle = np.linspace(0.0, 2.0 * np.pi, 200)
    label = {"boxstyle": "round,pad=0.15", "fc": "#30688e", "ec": "none"}
    words = []
    for bend in (20.0, 40.0):
        axes.plot(bend * np.cos(circle), bend * np.sin(circle), "w", lw=1.8)
        axes.annotate(
            "",
            (bend * np.cos(0.82), bend * np.sin(0.82)),
            (bend * np.cos(0.72), bend * np.sin(0.72)),
            arrowprops={"arrowstyle": "-|>", "color": "w", "lw": 1.8, "mutation_scale": 18},
        )
        turn, area = np.degrees([turned(cat, np.radians(bend)), swept(cat, np.radians(bend))])
        axes.text(0.0, -bend, f"{bend:.0f}°", color="w", ha="center", va="center", bbox=label, fontsize=9)
        words.append(f"bend of {bend:.0f}°: the cat turns {turn:.1f}° (integral of the map: {area:.1f}°)")
    axes.text(0.0, -86.0, "\n".join(words), color="w", ha="center", va="bottom", fontsize=9)
    axes.set_xlabel("spine_z (degrees)")
    axes.set_ylabel("spine_y (degrees)")
    axes.set_title("Falling without spin: how a cat turns by carrying its bend around", fontsize=10)
    axes.set_aspect("equal")
    axes.set_xticks(range(-90, 91, 30))
    axes.set_yticks(range(-90, 91, 30))
    figure.savefig(path, dpi=130)
    plt.close(figure)


def gait_figures(folder: Path) -> None:
    """The example of [Mishra] V-B like its Fig. 8 and 9, and the best gaits of three rods."""
    found = orbital_example()
    (folder / "orbital_fig8.svg").write_text(surfaces(found), encoding="utf-8")
    (folder / "orbital_fig9.svg").write_text(volume(found), encoding="utf-8")
    example = runpy.run_path(str(FOLDER.parents[1] / "examples" / "gaits" / "best_gait.py"))
    (folder / "best_gait.svg").write_text(example["picture"](), encoding="utf-8")


def kernel_times(path: Path) -> None:
    """Single calls from Python, from the results of two benchmarks: how many times ours each peer takes."""
    results = FOLDER.parents[1] / "benchmarks" / "results"
    rows = json.loads((results / "peers.json").read_text())["rows"]
    single = json.loads((results / "kernels.json").read_text())["robots"]["talos_reduced"]["single"]
    ratios: dict[str, dict[str, float]] = {}
    for name, row in rows.items():
        ratios[name] = {
            peer: x["median"] / row["fallingcat"]["median"] for peer, x in row.items() if peer != "fallingcat"
        }
    for name in ("centroidal_momentum_matrix_derivative", "forward_dynamics_derivatives"):
        ratios[name] = {"Pinocchio": single[name]["ratio"]}
    peers = list(dict.fromkeys(peer for row in ratios.values() for peer in row))
    figure, axes = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
    height = 0.8 / len(peers)
    for k, peer in enumerate(peers):
        places = [(i + k * height, row[peer]) for i, row in enumerate(ratios.values()) if peer in row]
        bars = axes.barh([y for y, _ in places], [x for _, x in places], height * 0.9, label=peer)
        axes.bar_label(bars, fmt="%.1f", padding=2, fontsize=7)
    axes.axvline(1.0, color="black", linewidth=1.0, label="fallingcat")
    middles = [i + 0.5 * height * (len(row) - 1) for i, row in enumerate(ratios.values())]
    axes.set_yticks(middles, [name.replace("_", " ") for name in ratios])
    axes.set(xscale="log", xlim=(0.8, 300.0), xlabel="time of one call from Python, relative to fallingcat (log)")
    axes.invert_yaxis()
    axes.legend(loc="lower right", fontsize=8)
    axes.set_title("Talos, 32 joints and a free base, one core, float64", fontsize=10)
    figure.savefig(path, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    curvature_map(FOLDER / "curvature_map.png")
    gait_figures(FOLDER)
    kernel_times(FOLDER / "kernel_times.png")
