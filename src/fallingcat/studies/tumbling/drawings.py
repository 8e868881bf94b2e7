"""The page of an arm that tumbles: like [Mishra] Fig. 5 and 6, and what the surveys say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...control.laws.output_feedback import COMPENSATIONS
from ...visualization import Chart, Line, Picture, Table, side_by_side
from ...visualization.svg import INK, SOFT, color, document, path, text
from ..kind import Figures
from .surveys import ALLOWED_JOINT_ERROR, CONVERGED_ERRORS, STARTS_TIME, StartSurvey

if TYPE_CHECKING:
    from .kind import TumblingResult

NAMES = {"curvature": "with curvature, i = 1", "locked": "without, i = 2", "none": "springs and dampers alone"}
MIN_DRAWN_VALUE = 1e-14
"""Below this nothing is drawn on a logarithmic axis."""
MAX_DRAWN_SAMPLES = 900
"""samples of a chart at most"""


def figures(seen: TumblingResult) -> Figures:
    """Scene, block diagram and Fig. 6 above; surveys below."""
    scene = seen.runs["locked"].animate("joints").blocks[0]
    above = (scene, Picture("Like Fig. 5: what knows what", blocks()), *_figure_6(seen))
    below = (_joints(seen), _gain_chart(seen), _bandwidth(seen), _bandwidths(seen))
    return Figures(above, (*below, _regions(seen)))


def _frame_indices(seen: TumblingResult) -> np.ndarray:
    count = len(seen.runs["locked"].times)
    return np.linspace(0, count - 1, min(count, MAX_DRAWN_SAMPLES)).astype(int)


def _figure_6(seen: TumblingResult) -> tuple[Chart, Chart, Chart]:
    at, x = _frame_indices(seen), seen.errors["locked"]
    times = seen.runs["locked"].times[at]
    parts = ("pose", "locked velocity", "joint rates (W3)", "joints")
    lines = [Line("W, i = 2", x.W[at]), Line("W, i = 1", seen.errors["curvature"].W[at])]
    lines += [Line(name, x.parts[at, k]) for k, name in enumerate(parts) if k >= 2]
    lines = [Line(line.name, np.maximum(line.values, MIN_DRAWN_VALUE)) for line in lines]
    torques = [Line(NAMES[k], np.linalg.norm(seen.torques[k][at], axis=1)) for k in ("curvature", "locked")]
    return (
        Chart("Like Fig. 6-A: the Lyapunov function falls", times, lines, "J", log=True),
        Chart("Like Fig. 6-B: compensation torques", times, torques, "N m"),
        Chart("Their difference fades with the joint rates", times, [Line("norm", seen.torque_difference[at])], "N m"),
    )


def _joints(seen: TumblingResult) -> Chart:
    at = _frame_indices(seen)
    away = {k: np.degrees(np.linalg.norm(x.joints[at], axis=1)) for k, x in seen.errors.items()}
    lines = [Line(NAMES[k], np.maximum(y, 1e-6)) for k, y in away.items()]
    return Chart("Joint errors", seen.runs["locked"].times[at], lines, "deg", log=True)


def _gain_chart(seen: TumblingResult) -> Chart:
    t = seen.tuning
    good = np.isfinite(t.locked)
    lines = [Line("locked angular velocity (deg/s)", t.locked[good]), Line("joints (deg)", t.joints[good])]
    title = "Observer gain under slow, late, noisy poses: what is left of the error"
    return Chart(title, t.gains[good], lines, log=True, x_label="k (1/s), with l = k²/4")


def _bandwidth(seen: TumblingResult) -> Chart:
    b = seen.bandwidth
    lines = [Line(NAMES[kind], b.errors[kind]) for kind in COMPENSATIONS]
    return Chart("Joint error by bandwidth", b.frequencies, lines, "deg", log=True, x_label="frequency (rad/s)")


def _bandwidths(seen: TumblingResult) -> Table:
    b = seen.bandwidth
    alone = b.required_frequency("none")
    rows = [
        (
            NAMES[kind],
            f"{b.required_frequency(kind):.2f}",
            f"{alone / b.required_frequency(kind):.1f}",
            f"{(alone / b.required_frequency(kind)) ** 2:.0f}",
        )
        for kind in COMPENSATIONS[::-1]
    ]
    header = ("", "frequency (rad/s)", "times slower", "times softer")
    note = (
        f"Frequency of the joints' springs at which noise and momentum leave an error of {ALLOWED_JOINT_ERROR:g} deg."
    )
    return Table("How much bandwidth each compensation saves", header, rows, note=note)


def _regions(seen: TumblingResult) -> Picture:
    parts = [_cells("slow, late, noisy poses", seen.slow_starts), _cells("perfect poses", seen.perfect)]
    joints, locked, turned = CONVERGED_ERRORS
    title = (
        f"Share of starts (%) that converge within {STARTS_TIME:g} s: joints within {joints:g} deg, locked angular "
        f"velocity within {locked:g} deg/s, attitude within {turned:g} deg"
    )
    return Picture(title, side_by_side(parts, 500, 400, columns=2))


def _cells(what: str, starts: StartSurvey) -> str:
    """A map of shares, cell by cell; SVG."""
    x, y, share = starts.share_by_bin()
    wide, high, left, bottom = 430 / len(x), 300 / len(y), 55.0, 345.0
    parts = [text(270, 24, f"{what}: {len(starts.converged)} starts", fill=INK)]
    for i, column in enumerate(share):
        for j, percent in enumerate(column):
            at, up = left + i * wide, bottom - (j + 1) * high
            fill = "#eeeeee" if np.isnan(percent) else color(0.5 * percent / 100.0)
            parts.append(f'<rect x="{at:.1f}" y="{up:.1f}" width="{wide:.1f}" height="{high:.1f}" fill="{fill}"/>')
            said = "" if np.isnan(percent) else f"{percent:.0f}"
            parts.append(text(at + wide / 2, up + high / 2 + 4, said, fill=INK, more='font-size="10"'))
    parts += [text(left + (i + 0.5) * wide, bottom + 15, f"{v:.0f}") for i, v in enumerate(x)]
    parts += [text(left - 6, bottom - (j + 0.5) * high + 4, f"{v:.0f}", "end") for j, v in enumerate(y)]
    parts.append(text(270, bottom + 36, "attitude error of the observer at the start (deg)"))
    parts.append(text(16, 195, "tumbling that it does not know of (deg/s)", more='transform="rotate(-90 16 195)"'))
    return document(500, 400, parts)


def blocks() -> str:
    """Block diagram of robot, sensor, observers, compensation, springs and dampers; SVG."""
    boxes = {
        "robot (18)": (40, 60, 150), "pose sensor": (250, 20, 150), "group observer (37)": (460, 20, 170),
        "Euler-Poincaré observer (42), (51)": (460, 100, 250), "compensation (45)": (250, 190, 150),
        "springs, dampers (52)": (40, 190, 150),
    }  # fmt: skip
    parts = []
    for name, (x, y, width) in boxes.items():
        parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="40" rx="6" fill="none" stroke="{INK}"/>')
        parts.append(text(x + width / 2, y + 25, name, fill=INK))
    arrows = [
        ([(190, 70), (220, 70), (220, 40), (250, 40)], "g", (236, 34)),
        ([(400, 40), (460, 40)], "ε", (430, 34)),
        ([(545, 60), (545, 100)], "ε, ĝ", (566, 84)),
        ([(580, 140), (580, 210), (400, 210)], "μ̂ₒ", (500, 204)),
        ([(250, 210), (220, 210), (220, 92), (190, 92)], "τ̂", (232, 150)),
        ([(115, 190), (115, 100)], "τ_c", (130, 150)),
        ([(80, 100), (80, 190)], "q, q̇", (56, 150)),
        ([(190, 81), (430, 81), (430, 120), (460, 120)], "q, q̇", (330, 75)),
    ]
    for line, name, (x, y) in arrows:
        parts.append(path(line, SOFT, 1.4))
        (x0, y0), (x1, y1) = line[-2:]
        d = np.array([x1 - x0, y1 - y0]) / np.hypot(x1 - x0, y1 - y0)
        tip, side = np.array([x1, y1]), np.array([-d[1], d[0]])
        parts.append(path([tip - 8 * d + 4 * side, tip, tip - 8 * d - 4 * side], SOFT, 1.4))
        parts.append(text(x, y, name))
    return document(740, 250, parts)
