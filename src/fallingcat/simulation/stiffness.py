"""How fast springs and dampers let a robot move: what steps of a given size have to resolve."""

from __future__ import annotations

import numpy as np

from ..dynamics import mass_matrix
from ..model import State
from .system import System

DEFAULT_STEP = 1e-3
"""s"""
SHORTEST_DEFAULT = 1e-6
"""s: where springs are so stiff that steps had to be shorter, the run says so instead of taking them for ever"""
RESOLVED = 0.5
"""The product of step and rate up to which a rule of order 4 follows springs and dampers."""
STABLE = 2.0
"""The same up to which such a rule is stable, with a margin (2.8 is where it ends)."""
REBOUND = 0.05
"""Part of the speed before that the speed after a bounce may be wrong by, in default steps of the implicit rule."""
STIFF_STEP = 1e-5
"""s: an implicit method is the default for what explicit ones could not follow in steps of this size"""


def fastest(system: System, state: State) -> float:
    """The largest rate (1/s) at which springs ``K`` and dampers ``D`` of contact and laws move a robot near ``state``:
    the largest eigenvalue of ``M^-1 D``, or the root of that of ``M^-1 K``.  0 where nothing says how stiff it is.

    >>> import numpy as np
    >>> import fallingcat as fc
    >>> ball = fc.robots.free_body()
    >>> floor = fc.contact.CompliantFloor(("body",), stiffness=(1e4, 0.0), damping=(10.0, 0.0))
    >>> rate = fastest(System(ball, contact=floor), ball.neutral())
    >>> bool(np.isclose(rate, np.sqrt(1e4 / ball.mass)))
    True
    """
    said = [law.impedance(system.model, state) for law in system.laws]
    if system.contact is not None:
        said.append(system.contact.impedance(system.model, state))
    impedances = [x for x in said if x is not None]
    if not impedances:
        return 0.0
    M = np.asarray(mass_matrix(system.model, state), dtype=float)
    try:
        root = np.linalg.inv(np.linalg.cholesky(M))
        K, D = (root @ sum(x[k] for x in impedances) @ root.T for k in (0, 1))
        k, d = (max(0.0, float(np.linalg.eigvalsh(x).max(initial=0.0))) for x in (K, D))
    except np.linalg.LinAlgError:  # the step itself says by name what is singular
        return 0.0
    return max(d, float(np.sqrt(k)))


def default_step(system: System, state: State) -> float:
    """The step (s) of a rule of fixed steps to which none was given: 1 ms, or less where springs are faster."""
    rate = fastest(system, state)
    return max(SHORTEST_DEFAULT, min(DEFAULT_STEP, _round(RESOLVED / rate) if rate else DEFAULT_STEP))


def rebounding_step(system: System, state: State) -> float:
    """The step (s) of the implicit rule of order 1 to which none was given: 1 ms, or less where a robot bounces.

    On springs ``k`` and dampers ``d`` a mass ``m`` swings at ``w = sqrt(k / m)`` with the damping ``z``, and leaves
    with the part ``e = exp(-pi z / sqrt(1 - z^2))`` of its speed.  The rule adds ``w dt / 2`` to ``z``, whatever its
    books say: steps are so short that ``e`` is right to :data:`REBOUND`.  The motion looked at is that of the whole
    robot, up and down; one that does not rebound needs no shorter steps.
    """
    contact, model = system.contact, system.model
    springs = None if contact is None else contact.impedance(model, state)
    if contact is None or springs is None:
        return DEFAULT_STEP
    up = state.pose[:3, :3].T @ contact.ground(model).site(state.pose[:3, 3]).axes[0]
    u = np.concatenate([model.base.selection.T @ [*up, 0.0, 0.0, 0.0], np.zeros(model.n)])
    m, k, d = (float(u @ np.asarray(x, dtype=float) @ u) for x in (mass_matrix(model, state), *springs))
    bends = 1.0 - d * d / (4.0 * k * m) if k * m > 0.0 else 0.0  # 1 - z^2
    if bends <= 0.0:
        return DEFAULT_STEP
    e = np.exp(-np.pi * np.sqrt((1.0 - bends) / bends))
    allowed = REBOUND * bends**1.5 / (np.pi * e) if e > 0.0 else np.inf
    return max(SHORTEST_DEFAULT, min(DEFAULT_STEP, _round(2.0 * allowed / np.sqrt(k / m))))


def too_fast(system: System, state: State, dt: float) -> str:
    """Which rates steps of ``dt`` (s) do not resolve, and which would; nothing where that is not so."""
    rate = fastest(system, state)
    if rate * dt <= RESOLVED:
        return ""
    return (
        f"springs and dampers move at up to {rate:.3g} rad/s, too fast for steps of {dt:g} s; "
        f"take at most {_round(RESOLVED / rate):g} s, or an implicit integrator"
    )


def _round(dt: float) -> float:
    """Down to one digit."""
    if not np.isfinite(dt):
        return dt
    unit = 10.0 ** np.floor(np.log10(dt))
    return float(np.floor(dt / unit) * unit)
