"""Impulses of several points that push and do not pull, with friction: which of them hold, slide or leave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ....errors import NumericsError

STICK, SLIDE, OPEN = "stick", "slide", "open"
UNBOUNDED_FRICTION = 1e100
"""A coefficient of friction that holds every point that pushes."""
ROUNDING_RESIDUAL = 1e-13
"""Residual of the contact law that is rounding, relative to the largest velocity (scaled by the points' masses)."""
ACCEPTED_RESIDUAL = 1e-6
"""Residual that is accepted where Newton's method stalls: points that nearly depend on each other."""
MAX_DRIFT_MISMATCH = 5e-5
"""Largest relative difference between the demands of redundant points, which drift apart: 1e-3 m/s^2
(:data:`.MAX_ACCELERATION_ERROR`) of two times gravity."""
MIN_SINGULAR_VALUE = 1e-11
"""Singular values, relative to the largest, of impulses that change nothing."""
MAX_NEWTON_STEPS = 20
"""Steps of Newton's method, before splitting takes over."""
MAX_SLOW_STEPS = 3
"""Steps of Newton's method in a row that do not halve what is left, until it gives up."""
SPLITTINGS = [(steps, rho) for steps in (20, 80, 320) for rho in (1.0, 0.1, 0.3, 0.03)]
"""Steps of :meth:`Collision._split` and their penalties, one after the other; the best depends on the masses."""
LONG_SPLITTINGS = [(1280, 0.3), (1280, 0.03), (5120, 0.1), (5120, 1.0)]
"""More of them, where there is an answer: with a symmetric ``G``."""


class Impulses(NamedTuple):
    """``impulse`` (rows) and the ``status`` of each point."""

    impulse: np.ndarray
    status: tuple[str, ...]


class Guess(NamedTuple):
    """Scaled impulses, how far they are from the law, and what each point does."""

    x: np.ndarray
    left: float
    status: tuple[str, ...]


@dataclass
class Collision:
    """``v+ = v- + G x`` for the velocities of points, with ``x`` their impulses.

    For each point, ``rows`` lists the normal row and then the tangential ones.  Either the point leaves
    (``x = 0``, ``v+_n >= target``), or ``v+_n = target`` and ``x_n >= 0``; then it sticks (``v+_t = 0``,
    ``|x_t| <= friction x_n``) or slides (``x_t = -friction x_n v+_t / |v+_t|``): the law of Moreau and Coulomb.
    ``friction`` None lets every point that does not leave stick.  Where no choice of leaving points keeps that (holding
    a point along the ground can throw it off the ground), all points are held along the ground whether they push or
    not, as with friction without bounds: then impulses minimise a convex energy, and there always is an answer.

    All is solved for points of one scale, with three rows each: ``x_i / d_i`` and ``d_i v_i`` with ``1 / d_i^2`` the
    mean diagonal of ``G`` at a point.
    """

    G: np.ndarray
    before: np.ndarray
    rows: tuple[list[int], ...]
    target: np.ndarray
    """normal velocity of each point after the impact (m/s)"""
    friction: float | np.ndarray | None
    """one number, or one for each point"""

    def __post_init__(self) -> None:
        self.mu = np.broadcast_to(UNBOUNDED_FRICTION if self.friction is None else self.friction, (len(self.rows),))
        self.spread, wanted = np.zeros((len(self.before), 3 * len(self.rows))), np.zeros(len(self.before))
        for i, own in enumerate(self.rows):
            mean = float(np.abs(self.G[own, own]).mean())
            self.spread[own, range(3 * i, 3 * i + len(own))] = 1.0 / np.sqrt(mean) if mean > 0.0 else 1.0
            wanted[own[0]] = self.target[i]
        self.scaled = self.spread.T @ self.G @ self.spread
        self.short = self.spread.T @ (self.before - wanted)
        self.speed = float(np.abs(self.short).max(initial=0.0))

    def solve(self) -> Impulses:
        """Solve by Newton's method from all points held; where that fails, from ever more steps of a splitting."""
        if not self.speed > 0.0:
            return Impulses(np.zeros(len(self.before)), (OPEN,) * len(self.rows))
        with np.errstate(all="ignore"):  # steps that diverge are no answer
            held = self._sticking_impulses()
            best = self._newton(held)
            if best.left > ACCEPTED_RESIDUAL and self.friction is None:
                return self._sticking_tangential_impulses()
            symmetric = bool(np.abs(self.scaled - self.scaled.T).max() < 1e-9)
            for steps, rho in SPLITTINGS + (
                LONG_SPLITTINGS if symmetric and (np.diag(self.scaled) >= 0.0).all() else []
            ):
                if best.left <= ACCEPTED_RESIDUAL:
                    break
                start = self._split(held, steps, rho)
                guesses = (self._newton(start, whole) for whole in (True, False))
                best = min(best, *guesses, key=lambda guess: guess.left)
            best = min(best, self._newton(best.x), key=lambda guess: guess.left)
        if not best.left <= ACCEPTED_RESIDUAL:
            raise NumericsError(f"no way was found in which {len(self.rows)} points share an impact", value=best.left)
        return Impulses(self.spread @ best.x, best.status)

    def _sticking_impulses(self) -> np.ndarray:
        """The shortest impulses with which all points are held; takes away what no impulse can bring about."""
        U, s, Vt = np.linalg.svd(self.scaled)
        rank = int((s > MIN_SINGULAR_VALUE * s[0]).sum())
        # redundant points: what no impulse can bring about is drift if it is small, and no answer if it is not
        beyond = U[:, rank:] @ (U[:, rank:].T @ self.short)
        if float(np.abs(beyond).max(initial=0.0)) <= MAX_DRIFT_MISMATCH * self.speed:
            self.short = self.short - beyond
        return np.asarray(-Vt[:rank].T @ ((U[:, :rank].T @ self.short) / s[:rank]))

    def _newton(self, x: np.ndarray, whole: bool = True) -> Guess:
        """Newton's method on ``x = projection(x - v+)``, law by law (Alart and Curnier).

        With ``whole`` steps, or with such that end where the first point would no longer push: beyond it the law is
        another, and where points nearly depend on each other steps are long.
        """
        best, waited, last = Guess(x, np.inf, ()), 0, np.inf
        for _ in range(MAX_NEWTON_STEPS):
            fault, slope, status = self._projected(x)
            left = float(np.abs(fault).max()) / self.speed
            if not np.isfinite(left):
                break
            waited, last = (0 if left < 0.5 * last else waited + 1), left
            # x - fault is the projection: impulses that lie in their cones, also before the iteration has converged
            best = Guess(x - fault, left, status) if left < best.left else best
            if left <= ROUNDING_RESIDUAL or waited == MAX_SLOW_STEPS:
                break
            # of least norm: slopes are singular where points depend on each other
            step = np.linalg.lstsq(slope, fault, rcond=1e-12)[0]
            x = x - (1.0 if whole else self._reach(x, step)) * step
        return best

    def _reach(self, x: np.ndarray, step: np.ndarray) -> float:
        """The part of a step after which the first point pushes no more, a hair beyond it."""
        push, less = (x - self.short - self.scaled @ x)[::3], (step - self.scaled @ step)[::3]
        ends = push[(push > 0.0) & (less > push)] / less[(push > 0.0) & (less > push)]
        # at the end itself rounding would decide on which side of it the point is
        return float(ends.min(initial=1.0)) * (1.0 + 1e-9)

    def _projected(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
        """Residual ``x - projection(x - v+)``, its derivative, and the status of each point."""
        y = (x - self.short - self.scaled @ x).reshape(-1, 3)
        push, drag = np.maximum(y[:, 0], 0.0), y[:, 1:]
        size, limit, carries = np.linalg.norm(drag, axis=1), self.mu * push, y[:, 0] > 0.0
        slides = size > limit
        way = drag / np.where(size > 0.0, size, 1.0)[:, None]
        share = np.where(slides, limit / np.where(slides, size, 1.0), 1.0)
        D = np.zeros((len(y), 3, 3))
        D[:, 0, 0] = carries
        D[:, 1:, 0] = np.where((slides & carries)[:, None], self.mu[:, None] * way, 0.0)
        across = np.where(slides[:, None, None], np.eye(2) - way[:, :, None] * way[:, None, :], np.eye(2))
        D[:, 1:, 1:] = np.where(carries, share, 0.0)[:, None, None] * across
        projection = np.concatenate([push[:, None], share[:, None] * drag], axis=1).reshape(-1)
        one = np.eye(len(x))
        slope = one - (D @ (one - self.scaled).reshape(len(y), 3, -1)).reshape(len(x), -1)
        status = tuple(OPEN if not c else SLIDE if s else STICK for c, s in zip(carries, slides, strict=True))
        return x - projection, slope, status

    def _split(self, x: np.ndarray, steps: int, rho: float) -> np.ndarray:
        """Impulses in their cones near the law, by alternating directions.

        Velocities plus ``friction |v_t|`` along the normal lie in the dual cones (De Saxce), so each step is a linear
        solution and a projection.
        """
        inverse = np.linalg.pinv(self.scaled + rho * np.eye(len(x)))  # not symmetric, it may be singular
        x, dual, raised = self._cone(x), np.zeros(len(x)), np.zeros(len(x))
        for _ in range(steps):
            raised[::3] = self.mu * np.linalg.norm(dual.reshape(-1, 3)[:, 1:], axis=1)
            free = inverse @ (rho * x + dual - self.short - raised)
            x = self._cone(free - dual / rho)
            dual = dual - rho * (free - x)
        return x

    def _cone(self, x: np.ndarray) -> np.ndarray:
        """The nearest impulses with ``|x_t| <= friction x_n``."""
        n, t = x[::3], x.reshape(-1, 3)[:, 1:]
        size = np.linalg.norm(t, axis=1)
        inside, outside = size <= self.mu * n, self.mu * size <= -n
        push = np.where(inside, n, np.where(outside, 0.0, (n + self.mu * size) / (1.0 + self.mu**2)))
        share = np.where(inside, 1.0, self.mu * push / np.where(inside | (size == 0.0), 1.0, size))
        return np.concatenate([push[:, None], share[:, None] * t], axis=1).reshape(-1)

    def _sticking_tangential_impulses(self) -> Impulses:
        """``min x' G x / 2 + x' (v- - target)`` over ``x_n >= 0``: tangential impulses are free."""
        n = [rows[0] for rows in self.rows]
        t = [row for rows in self.rows for row in rows[1:]]
        follow = -np.linalg.pinv(self.G[np.ix_(t, t)], rcond=1e-12)  # tangential impulses that stop a velocity
        G = self.G[np.ix_(n, n)] + self.G[np.ix_(n, t)] @ follow @ self.G[np.ix_(t, n)]
        short = self.before[n] + self.G[np.ix_(n, t)] @ follow @ self.before[t] - self.target
        push = pushes(G, short, 1e-11 * float(np.abs(short).max()))
        x = np.zeros(len(self.before))
        x[n] = push
        x[t] = follow @ (self.before[t] + self.G[np.ix_(t, n)] @ push)
        return Impulses(x, tuple(STICK if p > 1e-12 * float(push.max()) else OPEN for p in push))


def pushes(G: np.ndarray, q: np.ndarray, still: float) -> np.ndarray:
    """``min x' G x / 2 + x' q`` over ``x >= 0``, for a positive semi-definite ``G`` (Lawson and Hanson's active set).

    >>> pushes(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([-4.0, 1.0]), 1e-12)
    array([2., 0.])
    """
    x, active = np.zeros(len(q)), np.zeros(len(q), dtype=bool)
    for _ in range(10 * len(q) + 10):
        slope = np.where(active, np.inf, G @ x + q)
        if not (slope < -still).any():
            break
        active[int(np.argmin(slope))] = True
        while active.any():
            k = np.flatnonzero(active)
            s = np.zeros(len(q))
            # not solve: redundant points make the block singular, and any of its solutions serves
            s[k] = np.linalg.lstsq(G[np.ix_(k, k)], -q[k], rcond=1e-12)[0]
            if (s[k] > 0.0).all():
                x = s
                break
            blocked = active & (s <= 0.0)
            # 1e-300: an entry that is zero and stays zero blocks at once, without 0 / 0
            share = float(np.min(x[blocked] / (x[blocked] - s[blocked] + 1e-300)))
            x = x + share * (s - x)
            # entries that end at zero but for rounding leave with the one that blocked
            active &= x > 1e-15 * max(float(np.abs(x).max()), 1e-300)
            x = np.where(active, x, 0.0)
    return x
