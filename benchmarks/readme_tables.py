"""The tables of README.md and docs/benchmarks.md, made from ``results/*.json``: as it was measured."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
README = Path(__file__).parents[1] / "README.md"
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
BEGIN, END = "<!-- benchmarks: made by benchmarks/all.py -->", "<!-- end of benchmarks -->"
MACHINE = "one core of a 2-core AMD EPYC virtual machine"
PEERS_DATE = "2026-11-16"  # of results/peers.json as committed; later runs of peers.py may write their own date
SINGLE = {
    "inverse_dynamics": "inverse dynamics",
    "mass_matrix": "mass matrix",
    "forward_dynamics": "forward dynamics",
    "coriolis_matrix": "Coriolis matrix (christoffel)",
    "centroidal_momentum_matrix_derivative": "rate of the centroidal momentum matrix",
    "forward_dynamics_derivatives": "derivatives of forward dynamics",
    "reduced_equations": "all REL matrices",
}
Row = tuple[str, str, str, str]
Results = dict[str, Any]


def load(name: str) -> Results:
    """Of one script."""
    return dict(json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8")))


HIGHLIGHTS = (
    "inverse dynamics, one call",
    "Coriolis matrix",
    "forward dynamics, each of 4,096",
    "landing of a quadruped",
    "whole-body tick",
    "inverse kinematics of a Panda",
)
"""Beginnings of the rows that README.md shows."""


def section() -> str:
    """What stands in docs/benchmarks.md between :data:`BEGIN` and :data:`END`."""
    return "\n".join(["", *_table(list(rows())), "", *scenes(), "", *peers(), "", *gpu(), ""])


def highlights() -> str:
    """The same in README.md."""
    return "\n".join(["", *_table([row for row in rows() if row[0].startswith(HIGHLIGHTS)]), ""])


def _table(lines: list[Row]) -> list[str]:
    head = ("", "fallingcat", "beside it", "ratio")
    return [f"| {' | '.join(cells)} |" for cells in (head, ("---",) * 4, *lines)]


def scenes() -> Iterator[str]:
    """Landings of a Go2 on more and more points, and robots under random torques."""
    result = load("contact_scenes")
    yield "A Go2 lands on the lowest points of its collision geometry, steps of 1 ms; simulated s per s beside MuJoCo"
    about = result["measured"]["landing of a Go2"]
    yield f"(Euler, 1 ms); runs of 1 s are whole calls of `simulate` ({about['date']},"
    yield f"{about['machine']}, load {about['load']:.0f}, processor time):"
    yield from (
        "",
        "| ground, points | 10 s | 1 s | first call | error after 1 s | MuJoCo, its error |",
        "|---" * 6 + "|",
    )
    for row in result["landing of a Go2"]:
        speed, short, theirs = row["simulated s per s"], row["simulated s per s, runs of 1 s"], row["MuJoCo"]
        errors = [f"{1e3 * x['error after 1 s (m)']:.2g} mm" for x in (row, theirs)]
        ratio, of_short = row["speed over MuJoCo"], row["runs of 1 s over MuJoCo"]
        yield (
            f"| {row['ground']}, {row['points']} | {number(speed)} ({ratio:.1f} times) | "
            f"{number(short)} ({of_short:.1f} times) | "
            f"{row['first call (s)']:.2g} s | {errors[0]} | {number(theirs['simulated s per s'])}, {errors[1]} |"
        )
    long = [f"{row['ground']}, {row['points']}" for row in result["landing of a Go2"] if row["status"] != "finished"]
    if long:
        yield from ("", f"Runs that report too long steps, by their largest error at any time: {'; '.join(long)}.")
    yield ""
    yield "Robots under random torques within their effort limits, 10 s: how many are not finite, and the speed of"
    about = result["measured"]["quadruped under random torques"]
    yield f"the fastest joint of the median robot in units of its limit ({about['date']}, {about['machine']}):"
    yield from ("", "| | step | not finite | fastest joint | steps per s and core |", "|---" * 5 + "|")
    for name in ("quadruped", "humanoid"):
        for row in result[f"{name} under random torques"]:
            fastest = row["fastest joint, in units of its speed limit"]["median"]
            broken, rate = f"{row['not finite']} of {row['robots']}", power(row["steps per s and core"])
            yield f"| {name}, {row['ground']} | {1e3 * row['dt']:g} ms | {broken} | {fastest:.2g} | {rate} |"


def put(text: str, begin: str, made: str, end: str) -> str:
    """The text with what was made between two marks."""
    before, mark, rest = text.partition(begin)
    _, closing, after = rest.partition(end)
    if not (mark and closing):
        raise ValueError(f"there is no {begin} ... {end} in the text")
    return f"{before}{begin}\n{made}{end}{after}"


def rows() -> Iterator[Row]:
    """One core, float64, medians."""
    yield from _kernels(load("kernels")["robots"]["talos_reduced"])
    hopper = load("hopper")
    ours, ratio = hopper["ours"]["times"]["cpu_median_s"], hopper["times_faster"]
    what = f"20 s of a hopper on a stiff floor, {hopper['ours']['events']} events (processor time)"
    yield what, f"{ours:.2g} s", "SciPy's LSODA over NumPy", number(ratio)
    yield from _contact("landing of a quadruped: s per s (batches)", load("contact"), 2e-3)
    yield from _contact("the same on hard ground", load("contact_hard"), 1e-3)
    yield from _control()
    yield from _jax(load("jax_kernels")["rows"]["forward dynamics"])
    maps = load("curvature_map")
    ratio = number(maps["ratio_differences_of_pinocchio"])
    yield "curvature map of 30 x 30 shapes, 7 joints", f"{maps['ours_ms']:.2g} ms", "differences of Pinocchio's", ratio
    imports, parse = load("import_time"), load("parse")["files"]
    alone = imports["fallingcat_without_interpreter_s"]
    numpy = alone - imports["fallingcat_without_numpy_s"]
    yield f"`import fallingcat` (NumPy is {1e3 * numpy:.0f} ms of it)", f"{1e3 * alone:.0f} ms", "", ""
    talos, chain = (parse[name]["median_s"] for name in ("talos_full_v2.urdf", "chain of 2,000 links"))
    yield "read talos (URDF, 107 KiB) / a chain of 2,000 links", f"{1e3 * talos:.0f} ms / {chain:.2g} s", "", ""


def _kernels(talos: Results) -> Iterator[Row]:
    for name, words in SINGLE.items():
        row = talos["single"][name]
        ours, theirs = (row["times"][who]["median"] for who in ("ours", "pinocchio"))
        note = " (its Coriolis matrix)" if name == "reduced_equations" else ""
        yield f"{words}, one call from Python", us(ours), f"Pinocchio {us(theirs)}{note}", number(row["ratio"])
    for name, row in talos["batch"].items():
        plain, blocks, theirs = (
            row["times"][way]["median"] for way in ("float64 plain", "float64 blocks", "pinocchio")
        )
        ratio = f"{number(theirs / plain)} / {number(theirs / blocks)}"
        what = f"{SINGLE[name]}, each of 4,096 states, arrays / blocks"
        yield what, f"{1e6 * plain:.2g} / {us(blocks)}", f"Pinocchio {us(theirs)} (C++ loop)", ratio


def _contact(what: str, result: Results, dt: float) -> Iterator[Row]:
    runs = result["quadruped"]
    ours = next(run for run in runs if run["method"].startswith("fallingcat") and run["dt"] == dt)
    euler = next(run for run in runs if run["method"] == "MuJoCo Euler")
    speed, batch = ours["simulated s per s"], ours["batch steps per s and core"] * dt
    theirs = euler["simulated s per s"]
    mine = f"{speed:,.0f} ({batch:,.0f}), {1e3 * dt:g} ms, {1e3 * ours['error after 1 s (m)']:.1g} mm off"
    peer = f"MuJoCo, {1e3 * euler['dt']:g} ms: {theirs:.0f}, {1e3 * euler['error after 1 s (m)']:.1g} mm off"
    yield what, mine, peer, f"{number(speed / theirs)} ({number(batch / theirs)})"


def _control() -> Iterator[Row]:
    body = {row["what"]: row["median_us"] for row in load("whole_body")["rows"]}
    weighted, strict, tsid = (body[key] for key in ("fallingcat, weighted", "fallingcat, three strict levels", "TSID"))
    what = "whole-body tick of Talos on two feet: weighted / three strict levels"
    yield what, f"{weighted:.0f} / {strict:.0f} µs", f"TSID {tsid:.0f} µs", number(tsid / weighted)
    reach = {row["what"]: row for row in load("inverse_kinematics")["rows"]}
    single, batch = reach["fallingcat, prepared"], reach["fallingcat, a batch of 10000"]
    best = min((row for row in reach.values() if "fallingcat" not in row["what"]), key=lambda row: row["median_us"])
    share = min(single["reached_percent"], batch["reached_percent"])
    peer = f"{best['what']}: {best['median_us']:.0f} µs, {best['reached_percent']:.0f} %"
    ratio = " / ".join(number(best["median_us"] / row["median_us"]) for row in (single, batch))
    mine = f"{single['median_us']:.0f} / {batch['median_us']:.2g} µs, {share:.0f} %"
    yield (
        "inverse kinematics of a Panda: one / each of 10,000",
        mine,
        peer,
        ratio,
    )


def _jax(row: Results) -> Iterator[Row]:
    ours, xla = row["kernel"], row["XLA"]
    ratio = f"{number(xla['first_s'] / ours['first_s'])}, {number(xla['us'] / ours['us'])}"
    cells = [f"{x['first_s']:.2g} s, {x['us']:.3g} µs" for x in (ours, xla)]
    yield (
        "forward dynamics of a 30-joint humanoid under `jax.jit`: first answer, a call",
        cells[0],
        f"XLA {cells[1]}",
        ratio,
    )


def peers() -> Iterator[str]:
    """How many times as long every peer takes for single calls."""
    result = load("peers")
    rows, apart = result["rows"], result["apart"]
    yield "Single calls from Python, in one run, as multiples of our time; largest difference of mass matrices"
    yield f"({result.get('date', PEERS_DATE)}, {MACHINE}):"
    yield from ("", f"| | {' | '.join(SINGLE[name] for name in rows)} | M apart |", "|---" * (2 + len(rows)) + "|")
    for peer in dict.fromkeys(peer for row in rows.values() for peer in row if peer != "fallingcat"):
        times = [(row[peer]["median"] / row["fallingcat"]["median"]) if peer in row else None for row in rows.values()]
        away = f"{apart[peer]:.0e}" if peer in apart else "-"
        yield f"| {peer} | {' | '.join('-' if x is None else number(x) for x in times)} | {away} |"


def gpu() -> Iterator[str]:
    """The sentence on GPUs."""
    kernels, contact = load("gpu"), load("contact_gpu")
    found = {(row["function"], row["dtype"]): row for row in kernels["rows"]}

    def rate(function: str, dtype: str = "float32") -> str:
        return power(found[function, dtype]["rate"])

    def steps(which: int) -> str:
        return " and ".join(power(contact[name][which]["steps per s"]) for name in ("quadruped", "humanoid"))

    shares = (f"{100 * found['inverse_dynamics', dtype]['share_of_bound']:.0f} %" for dtype in ("float32", "float64"))
    inverse, double, forward = rate("inverse_dynamics"), rate("inverse_dynamics", "float64"), rate("forward_dynamics")
    yield f"One {kernels['device']}, 2^20 states of Talos: inverse dynamics {inverse} /s in float32 and {double} /s in"
    yield f"float64 ({' and '.join(shares)} of what memory can move), forward dynamics {forward} /s and its derivatives"
    yield f"{rate('forward_dynamics_derivatives')} /s in float32;"
    yield f"contact steps of 2 ms of a quadruped on 4 feet and a humanoid on 8 points {steps(0)} /s (float32, ledgers"
    yield f"included, converged steps; {steps(3)} with one sweep; MuJoCo Warp on the same GPU {steps(-1)})."
    yield f"Functions were measured on {kernels['date']}, contact on {contact['date']}."


def us(seconds: float) -> str:
    """Microseconds."""
    return f"{1e6 * seconds:.2g} µs"


def number(x: float) -> str:
    """Two digits, or a whole number."""
    return f"{x:.2g}" if x < 100 else f"{x:,.0f}"


def power(x: float) -> str:
    """As 2.8e9."""
    mantissa, exponent = f"{x:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"
