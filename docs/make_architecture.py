"""Draw the picture of architecture.md: `python docs/make_architecture.py`."""

from __future__ import annotations

from pathlib import Path

FILE = Path(__file__).parent / "_static" / "architecture.svg"
INK, PALE, BLUE, GREEN, SAND = "#333333", "#777777", "#e3edf8", "#e4f2e4", "#f7efdf"
WIDTH, HEIGHT = 980, 450

Box = tuple[float, float, float, float, str, str, tuple[str, ...]]
"""left, top, width, height, fill, title, lines"""

BOXES: dict[str, Box] = {
    "file": (10, 60, 120, 84, SAND, "a file", ("URDF, MJCF,", "TOML")),
    "io": (160, 60, 120, 84, BLUE, "io", ("reads what it can", "trust, names the rest")),
    "model": (310, 60, 130, 84, BLUE, "model", ("Model: a frozen tree", "State: pose, joints,", "twist, rates")),
    "dynamics": (470, 60, 150, 84, BLUE, "dynamics,", ("formulations:", "f(model, state, ...),", "one code")),
    "simulation": (
        650,
        60,
        150,
        84,
        BLUE,
        "simulation",
        ("problem, integrators,", "steps, events,", "diagnostics"),
    ),
    "page": (830, 60, 140, 84, SAND, "a page", ("Trajectory, then", "visualization: charts,", "animation, tables")),
    "contact": (640, 180, 118, 62, GREEN, "contact, control", ("ground, loops;", "force laws, tasks")),
    "planning": (830, 180, 140, 62, GREEN, "planning, studies", ("gaits, reorientation,", "published results")),
    "numbers": (
        310,
        180,
        310,
        62,
        GREEN,
        "arrays: number types",
        ("float, complex | JAX, CasADi, SymPy | traced",),
    ),
    "trace": (310, 290, 100, 66, BLUE, "trace", ("run once on", "expressions")),
    "program": (445, 290, 120, 66, BLUE, "program", ("schedule, fuse,", "cut into chunks")),
    "emit": (605, 290, 120, 66, BLUE, "emit", ("LLVM | CUDA |", "C, JAX, CasADi")),
    "native": (765, 290, 110, 66, BLUE, "machine code", ("one state, SIMD,", "threads, GPU")),
    "cache": (605, 385, 270, 48, SAND, "cache", ("machine code on disk, keyed by source",)),
}
ARROWS = [
    ("file", "io"), ("io", "model"), ("model", "dynamics"), ("dynamics", "simulation"), ("simulation", "page"),
    ("contact", "simulation"), ("planning", "page"), ("dynamics", "numbers"), ("numbers", "trace"),
    ("trace", "program"), ("program", "emit"), ("emit", "native"), ("native", "cache"), ("native", "simulation"),
]  # fmt: skip


def text(x: float, y: float, words: str, size: int = 12, colour: str = INK, weight: str = "normal") -> str:
    font = f'font-family="sans-serif" font-size="{size}" font-weight="{weight}"'
    return f'<text x="{x:g}" y="{y:g}" {font} fill="{colour}" text-anchor="middle">{words}</text>'


def drawn(box: Box) -> str:
    left, top, width, height, fill, title, lines = box
    frame = f'<rect x="{left}" y="{top}" width="{width}" height="{height}" rx="6" fill="{fill}" stroke="{PALE}"/>'
    middle = left + 0.5 * width
    rows = [text(middle, top + 36 + 15 * i, line) for i, line in enumerate(lines)]
    return frame + text(middle, top + 19, title, 13, weight="bold") + "".join(rows)


def arrow(start: Box, end: Box) -> str:
    """From box to box: along a row, or down and up where they stand over each other."""
    (x1, y1, w1, h1), (x2, y2, w2, h2) = start[:4], end[:4]
    if y1 == y2:
        a, b = (x1 + w1, y1 + 0.5 * h1), (x2, y2 + 0.5 * h2)
    else:
        x = 0.5 * (max(x1, x2) + min(x1 + w1, x2 + w2))
        a, b = ((x, y1 + h1), (x, y2)) if y2 > y1 else ((x, y1), (x, y2 + h2))
    place = " ".join(f'{name}="{value:g}"' for name, value in zip(("x1", "y1", "x2", "y2"), (*a, *b), strict=True))
    return f'<line {place} stroke="{INK}" stroke-width="1.5" marker-end="url(#tip)"/>'


def picture() -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">'
    tip = '<path d="M0,0 L8,4 L0,8 z" fill="#333333"/>'
    marker = f'<marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">{tip}</marker>'
    parts = [head, f"<defs>{marker}</defs>", '<rect width="100%" height="100%" fill="white"/>']
    parts += [drawn(box) for box in BOXES.values()]
    parts += [arrow(BOXES[start], BOXES[end]) for start, end in ARROWS]
    parts.append(text(490, 30, "From a file to a page; below, how the same functions are compiled", 15, PALE))
    return "\n".join(parts) + "\n</svg>\n"


if __name__ == "__main__":
    FILE.write_text(picture(), encoding="utf-8")
