"""Impulses of several points that push and do not pull, with friction: which of them hold, slide or leave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..errors import NumericsError

STICK, SLIDE, OPEN = "stick", "slide", "open"
MOST_TURNS = 100
MOST_SWEEPS = 2_000
STALL = 50
"""Sweeps in which the change should have halved: what redundant points demand may differ by rounding."""
MOST_STEPS = 20
LOOSE = 1e-4
"""What sweeps that end without an answer may leave of the law, relative to the impulses."""
DIVERGED = 1e9
"""Impulses, relative to a typical one, with which sweeps come to no end."""
NOISE = 1e-9
"""m/s: what an integrator leaves at points that are at rest"""


class Impulses(NamedTuple):
    """``impulse`` (rows) and the ``status`` of each point."""

    impulse: np.ndarray
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
    """

    G: np.ndarray
    before: np.ndarray
    rows: tuple[list[int], ...]
    target: np.ndarray
    """of each point's normal velocity (m/s)"""
    friction: float | None

    def __post_init__(self) -> None:
        self.speed = float(np.abs(self.before).max(initial=0.0) + np.abs(self.target).max(initial=0.0))
        mean = float(np.trace(self.G)) / max(len(self.G), 1)
        self.size = self.speed / mean if mean > 0.0 else 0.0  # of a typical impulse
        self.noise = max(1e-10, NOISE / max(self.speed, NOISE))  # faults below it are rounding, relative to the two

    def solve(self) -> Impulses:
        """By pivoting from all points held, one change at a time; where that cycles, by sweeps over the points."""
        status = [STICK] * len(self.rows)
        seen: set[tuple[str, ...]] = set()
        while tuple(status) not in seen:
            seen.add(tuple(status))
            answer = self._with(tuple(status))
            change = self._worst(answer)
            if change is None:
                return (SLIDE in status and self._newton(answer.impulse)) or answer
            status[change[0]] = change[1]
        try:
            return self._held_along() if self.friction is None else self._sweeps()
        except np.linalg.LinAlgError:
            raise self._unsolved() from None

    # given what each point does ---------------------------------------------------------------------------------

    def _with(self, status: tuple[str, ...]) -> Impulses:
        """The impulses of least norm when the points hold, slide and leave as ``status`` says."""
        sliding = [i for i, s in enumerate(status) if s == SLIDE]
        held = self._linear(tuple(STICK if s == SLIDE else s for s in status), {})
        ways = {i: self._along(-held[self.rows[i][1:]]) for i in sliding}
        impulse = self._linear(status, ways)
        for _ in range(MOST_TURNS if sliding else 0):  # friction is against the velocity that it leaves
            after = self.before + self.G @ impulse
            newer = {i: self._along(after[self.rows[i][1:]]) for i in sliding}
            turned = max(float(np.abs(newer[i] - ways[i]).max(initial=0.0)) for i in sliding)
            ways = newer
            impulse = self._linear(status, ways)
            if turned < 1e-14:
                break
        return Impulses(impulse, status)

    def _linear(self, status: tuple[str, ...], ways: dict[int, np.ndarray]) -> np.ndarray:
        held: list[int] = []
        columns = []
        wanted = np.zeros(len(self.before))
        for i, (rows, s) in enumerate(zip(self.rows, status, strict=True)):
            wanted[rows[0]] = self.target[i]
            for row in rows if s == STICK else rows[:1] if s == SLIDE else []:
                column = np.eye(1, len(self.before), row)[0]
                if s == SLIDE:
                    column[rows[1:]] = -(self.friction or 0.0) * ways[i]
                held.append(row)
                columns.append(column)
        if not held:
            return np.zeros(len(self.before))
        K = np.array(columns).T
        x = np.linalg.lstsq(self.G[held] @ K, (wanted - self.before)[held], rcond=1e-12)[0]
        return np.asarray(K @ x)

    def _along(self, v: np.ndarray) -> np.ndarray:
        size = float(np.linalg.norm(v))
        return v / size if size > 0.0 else np.eye(1, len(v))[0]

    def _worst(self, answer: Impulses) -> tuple[int, str] | None:
        """The point that breaks its law most, and what it should do instead; None if all keep it."""
        after = self.before + self.G @ answer.impulse
        worst = (self.noise, -1, OPEN)
        for i, (rows, s) in enumerate(zip(self.rows, answer.status, strict=True)):
            x, v = answer.impulse[rows] / (self.size or 1.0), after[rows] / (self.speed or 1.0)
            short = self.target[i] / (self.speed or 1.0) - float(v[0])
            faults = [(short, STICK)] if s == OPEN else [(-float(x[0]), OPEN), (abs(short), OPEN)]
            if s != OPEN and len(rows) > 1 and self.friction is not None:
                limit = self.friction * float(x[0])
                if s == STICK:
                    faults.append((float(np.linalg.norm(x[1:])) - limit, SLIDE))
                else:  # work that friction should take and does not
                    faults.append((limit * float(np.linalg.norm(v[1:])) + float(x[1:] @ v[1:]), STICK))
            fault, change = max(faults)
            if fault > worst[0]:
                worst = (fault, i, change)
        return None if worst[1] < 0 else worst[1:]

    def _held_along(self) -> Impulses:
        """``min x' G x / 2 + x' (v- - target)`` over ``x_n >= 0``: tangential impulses are free."""
        n = [rows[0] for rows in self.rows]
        t = [row for rows in self.rows for row in rows[1:]]
        follow = -np.linalg.pinv(self.G[np.ix_(t, t)], rcond=1e-12)  # tangential impulses that stop a velocity
        G = self.G[np.ix_(n, n)] + self.G[np.ix_(n, t)] @ follow @ self.G[np.ix_(t, n)]
        short = self.before[n] + self.G[np.ix_(n, t)] @ follow @ self.before[t] - self.target
        push = pushes(G, short, 1e-11 * self.speed)
        x = np.zeros(len(self.before))
        x[n] = push
        x[t] = follow @ (self.before[t] + self.G[np.ix_(t, n)] @ push)
        return Impulses(x, tuple(STICK if p > 1e-12 * self.size else OPEN for p in push))

    # point by point ---------------------------------------------------------------------------------------------

    def _sweeps(self) -> Impulses:
        """Gauss and Seidel: each point in turn keeps its law, until Newton's method finds the rest of the way."""
        x = np.zeros(len(self.before))
        status = [OPEN] * len(self.rows)
        last = left = np.inf
        for sweep in range(MOST_SWEEPS):
            change = 0.0
            for i, rows in enumerate(self.rows):
                free = self.before[rows] + self.G[rows] @ x - self.G[np.ix_(rows, rows)] @ x[rows]
                new, status[i] = self._point(i, free)
                change = max(change, float(np.abs(new - x[rows]).max(initial=0.0)))
                x[rows] = new
            if not change <= DIVERGED * self.size:
                break
            if change <= 1e-13 * self.size:
                return Impulses(x, tuple(status))
            if sweep % 10 == 9:
                answer = self._newton(x)
                if answer is not None:
                    return answer
            if sweep % STALL == STALL - 1:
                left = float(np.abs(self._projected(x)[0]).max()) / (self.size or 1.0)
                if left <= LOOSE and change > 0.5 * last:
                    return Impulses(x, tuple(status))
                last = change
        raise self._unsolved(left)

    def _unsolved(self, left: float = np.inf) -> NumericsError:
        return NumericsError(f"no way was found in which {len(self.rows)} points share an impact", value=left)

    def _newton(self, x: np.ndarray) -> Impulses | None:
        """Newton's method on ``x = projection(x - (v+ - target) / mean G)``, law by law (Alart and Curnier)."""
        for _ in range(MOST_STEPS):
            fault, slope, status = self._projected(x)
            if not np.isfinite(fault).all():
                return None
            if float(np.abs(fault).max()) <= 1e-13 * self.size:
                return Impulses(x - fault, status)
            x = x - np.linalg.lstsq(slope, fault, rcond=1e-12)[0]
        return None

    def _projected(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
        """What is left of ``x - projection(y)``, its derivative, and what each point does."""
        mu, step = self.friction or 0.0, self.size / self.speed
        y, dy = x - step * (self.before + self.G @ x), np.eye(len(x)) - step * self.G
        projection, slope, status = np.zeros(len(x)), np.zeros(dy.shape), []
        for i, (n, *t) in enumerate(self.rows):
            push, drag = y[n] + step * self.target[i], y[t]
            size = float(np.linalg.norm(drag))
            if push > 0.0:
                projection[n], slope[n] = push, dy[n]
            if push > 0.0 and size <= mu * push:
                projection[t], slope[t] = drag, dy[t]
            elif push > 0.0:
                way = drag / size
                projection[t] = mu * push * way
                across = np.eye(len(t)) - np.outer(way, way)
                slope[t] = np.outer(mu * way, dy[n]) + (mu * push / size) * across @ dy[t]
            status.append(OPEN if push <= 0.0 else STICK if size <= mu * push else SLIDE)
        return x - projection, np.eye(len(x)) - slope, tuple(status)

    def _point(self, i: int, free: np.ndarray) -> tuple[np.ndarray, str]:
        """The impulse of one point whose velocity would be ``free`` without it."""
        rows = self.rows[i]
        G, target = self.G[np.ix_(rows, rows)], float(self.target[i])
        wanted = -free
        wanted[0] += target
        held = np.linalg.lstsq(G, wanted, rcond=1e-12)[0]
        if held[0] > 0.0 and np.linalg.norm(held[1:]) <= (self.friction or 0.0) * held[0]:
            return held, STICK
        if free[0] >= target:
            return np.zeros(len(rows)), OPEN
        return self._sliding(G, free, target), SLIDE

    def _sliding(self, G: np.ndarray, free: np.ndarray, target: float) -> np.ndarray:
        """The impulse of a sliding point: the direction whose friction leaves the velocity along itself."""
        mu = self.friction or 0.0

        def impulses(ways: np.ndarray) -> np.ndarray:
            columns = np.concatenate([np.ones((1, ways.shape[1])), -mu * ways])
            gain = G[0] @ columns  # not positive where friction pushes the point into the ground
            return columns * ((target - free[0]) / np.where(gain > 0.0, gain, np.inf))

        if len(free) < 3:
            ways = np.array([[1.0, -1.0]])[: len(free) - 1]
        else:
            angles = sliding_angles(G, free, target, mu)
            ways = np.array([np.cos(angles), np.sin(angles)])
        x = impulses(ways)
        along = (ways * (free[1:, None] + G[1:] @ x)).sum(axis=0)
        return np.asarray(x[:, int(np.argmax(np.where(x[0] >= 0.0, along, -np.inf)))])


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
            s[k] = np.linalg.lstsq(G[np.ix_(k, k)], -q[k], rcond=1e-12)[0]
            if (s[k] > 0.0).all():
                x = s
                break
            blocked = active & (s <= 0.0)
            share = float(np.min(x[blocked] / (x[blocked] - s[blocked] + 1e-300)))
            x = x + share * (s - x)
            active &= x > 1e-15 * max(float(np.abs(x).max()), 1e-300)
            x = np.where(active, x, 0.0)
    return x


def sliding_angles(G: np.ndarray, free: np.ndarray, target: float, mu: float) -> np.ndarray:
    """The angles of ``w`` for which the velocity left along the ground is along ``w``, forwards or backwards.

    With ``x = [1, -mu w] (target - free_n) / (G_nn - mu G_nt w)``, ``w x (free_t + G_t x) = 0`` times the denominator
    is ``a cos + b sin + c cos 2 + d sin 2 + e = 0``: a polynomial of order 4 in ``exp(i angle)``.

    >>> np.sort(np.cos(sliding_angles(np.eye(3), np.array([-1.0, 2.0, 0.0]), 0.0, 0.5))).round(12)
    array([-1.,  1.])
    """
    t, (f, g), ((n, p, q), (h, A, B), (k, C, D)) = target - free[0], free[1:], G
    u, v, w = mu * (g * p + t * C), mu * (g * q - f * p + t * (D - A)), mu * (f * q + t * B)
    a, b, c, d, e = g * n + t * k, -f * n - t * h, -0.5 * (u + w), -0.5 * v, -0.5 * (u - w)
    z = np.roots(np.array([c - 1j * d, a - 1j * b, 2.0 * e, a + 1j * b, c + 1j * d]))
    off = np.abs(np.abs(z) - 1.0)
    return np.asarray(np.angle(z[off <= max(1e-6, float(off.min(initial=np.inf)))]))
