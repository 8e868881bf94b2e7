"""Page with a learning curve."""

from __future__ import annotations

from collections.abc import Sequence

from ..visualization import Chart, Fact, Line, Page
from .policy import Policy

SECONDS = "training (s)"
TERM = "reward: "


def curve_page(policy: Policy, curve: Sequence[dict[str, float]]) -> Page:
    """Page of a learning curve: errors, reward and its terms, falls, exploration.

    Args:
        policy: Policy.
        curve: Rows of :class:`.Training`.

    Returns:
        Page.

    Example:
        >>> import numpy as np
        >>> rows = [{"seconds": 1.0, "actions": 100.0, "reward": 0.5, "falls per s": 1.0}]
        >>> len(curve_page(Policy(((np.eye(1), np.zeros(1)),), {}), rows).blocks)
        2
    """
    rows = list(curve)
    x = [row["seconds"] for row in rows]
    names = [*rows[0]] if rows else []
    errors = [name for name in names if "error (" in name]
    terms = [name for name in names if name.startswith(TERM)]

    def chart(title: str, chosen: Sequence[str], unit: str = "", log: bool = False) -> Chart:
        lines = [Line(name.removeprefix(TERM), [row[name] for row in rows]) for name in chosen]
        return Chart(title, x, lines, unit, log, x_label=SECONDS)

    groups = [
        ("Errors", errors, "", False),
        ("Reward", ["reward"], "", False),
        ("Terms of the reward", terms, "", False),
        ("Falls of a robot", ["falls per s"], "1/s", False),
        ("Exploration", ["deviation"], "", False),
        ("Learning rate", ["learning rate"], "", True),
    ]
    blocks = [chart(title, kept, unit, log) for title, own, unit, log in groups if (kept := _present_names(own, names))]
    return Page(
        f"{policy.about.get('robot', 'robot')} learns to {policy.about.get('task', 'act')}",
        f"proximal policy optimization, layers {'-'.join(map(str, policy.sizes))}",
        _facts(rows),
        blocks,
    )


def _present_names(wanted: Sequence[str], names: Sequence[str]) -> list[str]:
    return [name for name in wanted if name in names]


def _facts(rows: Sequence[dict[str, float]]) -> list[Fact]:
    if not rows:
        return []
    last, broken = rows[-1], sum(row.get("broken", 0.0) for row in rows)
    pace = last["actions"] / max(last["seconds"], 1e-9)
    found = [Fact("time", f"{last['seconds']:.1f} s"), Fact("actions", f"{last['actions']:.3g}", f"{pace:,.0f} per s")]
    found += [Fact(name, f"{last[name]:.3g}") for name in last if "error (" in name]
    return [*found, Fact("broken robots", f"{broken:.0f}", "reset and counted")]
