"""Reactions of contacts, joint stops, loops and dry friction in a compiled step, by a proximal Newton method.

Velocities ``u = short + X G X' x`` follow from impulses ``x``.  Each set of rows has a law ``x = nearest(x - u)``, with
the impulse of its set that is nearest to ``x - u``: of a point in its cone, of dry friction within its bounds, of what
is closed any.  Mostly one or two steps of Newton's method from the impulses of the last time meet it, and the rest of a
round is not worked out.

Where points depend on each other, as the corners of a sole, impulses may have a long way to go on which velocities
hardly change, and Newton's method would go too far.  So a proximal term draws them to a center: ``x = nearest(x - u -
p (x - center))``.  With a weight ``p`` that is large enough steps arrive, and where they have arrived is the next
center, with a smaller weight (the proximal point algorithm).  Steps are taken whole: on the way along the edge of a
cone faults grow and shrink.

The law is the same with ``x = nearest(x - r u)`` for any ``r > 0``, its reach.  Rows are scaled so that 1 suits a point
alone.  Many points that slide together to a stop move far more than one alone would: with ``r = 1`` steps lead from one
edge of all cones to the other and back.  So where steps do not arrive, a short reach is tried once before the weight is
made larger.

Points that stick whatever that takes may have no motion at all: held along the ground they would be thrown off it, and
let go they would not leave (a jam of Painleve's kind).  Where steps have not arrived after some rounds, these points
have a coefficient of friction, and a smaller one after some more.

Points of one sole move with their link, whose twist is 6 numbers however many points there are: ``X`` says how, and
``G`` is that of links (:mod:`fallingcat.contact.rigid.solvers.delassus`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ....arrays import absolute, array, concatenate, less, scale, sqrt, where, while_loop
from ...patches import guarded, summed
from .cone_projection import JAMMED_FRICTION, STICKING_FRICTION, ImpulseSet, ProjectionSlope
from .delassus import DenseResponse, Lever, Response

MAX_VELOCITY_ERROR = 5e-4
"""m/s or rad/s: more is never left to save rounds."""
UNTOUCHED_VELOCITY_ERROR = 1e-30
"""The same, for what is taken as it was: where nothing touches."""
MAX_NEWTON_STEPS = 5
"""Steps of Newton's method to arrive in; else the weight of the proximal term has to be larger."""
UNROLLED_ROUNDS = 8
"""Rounds where loops are unrolled (C, CasADi, derivatives); their residual is part of the memory"""
MIN_DIAGONAL, UNMOVED_DIAGONAL = 1e-12, 1e30
"""1/kg or 1/(kg m^2): a row with less is rounding, and nothing moves it; in its place"""
WEIGHT_DECREASE, WEIGHT_INCREASE = 0.3, 4.0
"""Factors by which the weight of the proximal term changes."""
SHORT_REACH, LATER_REACH = 1.0 / 32.0, 0.5
"""``r`` that is tried once where steps do not arrive with 1: many points may slide to a stop together; and after it."""

JAM_ROUNDS = 40
"""Rounds after which points that stick have the first of the :data:`.JAMMED_FRICTION`, and then the next."""


class Digits(NamedTuple):
    """Tolerances and weights of the solver for a kind of number."""

    left: float
    """m/s or rad/s: how far from the law of contact velocities may be; more, with the square of the rounds"""
    weights: tuple[float, float, float]
    """to the center, where the mean diagonal of ``X G X'`` is 1: at first, at least, and at least where steps have not
    arrived"""
    rounds: int
    """after which impulses are taken as they are"""


DIGITS = {"float64": Digits(1e-12, (1e-6, 1e-7, 1e-3), 720), "float32": Digits(1e-6, (1e-3, 1e-3, 1e-2), 180)}


class Reactions(NamedTuple):
    """Solution: impulses and their residual."""

    impulses: Any
    """impulses of all rows, each in its set"""
    along: Any
    """``X' impulses``"""
    left: Any
    """largest error of velocities against the contact law (m/s or rad/s)"""


def reactions(
    G: Any,
    short: Any,
    start: Any,
    sets: Sequence[ImpulseSet],
    levers: Sequence[Lever] | None = None,
    digits: Digits = DIGITS["float64"],
    soft: Sequence[Any] | None = None,
    nears: Sequence[Any] | None = None,
) -> Reactions:
    """Impulses ``x`` with ``x = nearest(x - short - X G X' x)``, from a ``start``, on numbers or in a kernel.

    ``soft`` is the compliance (1/kg) of each set, 0 if left out: velocities are ``short + X G X' x + soft x``.
    ``nears`` are conditions without which sets have no impulse (None: they may have one in any case); those of a patch
    are the same, and what patches ask for is skipped where they do not hold.

    >>> from fallingcat.contact.rigid.solvers.cone_projection import Cone
    >>> G, short = np.diag([2.0, 1.0, 1.0]), np.array([-4.0, 5.0, 0.0])  # it falls and slides
    >>> found = reactions(G, short, np.zeros(3), [Cone(3, 0.5)])
    >>> found.impulses.round(12).tolist(), bool(found.left < 1e-12)
    ([2.0, -1.0, 0.0], True)
    """
    parts = parts_of(sets)
    response = DenseResponse(G) if isinstance(G, np.ndarray) else G
    levers = levers or [Lever(part, None) for part in parts]
    whole = _Problem.of(response, short, sets, parts, levers, soft or [0.0] * len(parts), nears or [None] * len(parts))

    jams = any(s.sticks for s in sets)

    def around(z: Any) -> Iterator[tuple[Any, Any]]:
        now = _Round.of(z, parts)
        now, problem = now.unjammed(whole, digits) if jams else (now, whole)
        at = problem.at(now.x, now.reach, now.center, now.weight)
        begun = now.found(problem, at)
        # in the first round alone, and only where nothing touches: the residual is exactly zero then
        yield begun.flat, where(less(now.rounds, 1.5), UNTOUCHED_VELOCITY_ERROR, -1.0) - begun.left
        step = problem.newton(at, now.weight, now.reach)
        once = problem.at(_differences(at.x, step(at.fault)[0]), now.reach)  # its V anew: long steps round off
        middle = now.found(problem, once)
        yield middle.flat, digits.left - middle.left
        more, dV = step(once.fault)
        # of a second, short step the velocities follow from the step: a product with G less
        twice = problem.at(_differences(once.x, more), now.reach, V=once.V - dV)
        end, enough = now.found(problem, twice), _allowed_residual(now.rounds, digits)
        yield end.flat, enough - end.left
        next_ = now.after(problem, at, once, _where(less(end.left, middle.left), twice.x, once.x), end, digits)
        yield next_.flat, enough - next_.left

    first = whole.kept([scale(d, start[part]) for part, d in zip(parts, whole.sizes, strict=True)])
    begun = _Round(first, first, [np.zeros(s.rows) for s in sets], digits.weights[0], 1.0, 0.0, 0.0, 1.0, np.inf)
    end = _Round.of(while_loop(around, begun.flat, digits.rounds, UNROLLED_ROUNDS), parts)
    impulses = concatenate(whole.kept([scale(d, x) for d, x in zip(whole.units, end.best, strict=True)]))
    return Reactions(impulses, whole.basis * whole.along(end.best), end.left)


def parts_of(sets: Sequence[ImpulseSet]) -> list[slice]:
    """Rows of each set among those of all."""
    ends = np.cumsum([s.rows for s in sets]).tolist()
    return [slice(end - s.rows, end) for s, end in zip(sets, ends, strict=True)]


def spans_of(levers: Sequence[Lever]) -> list[tuple[slice, list[int]]]:
    """Rows of the Jacobian, and the sets that move with them."""
    found: dict[int, list[int]] = {}
    for i, lever in enumerate(levers):
        found.setdefault(lever.span.start, []).append(i)
    return [(levers[which[0]].span, which) for _, which in sorted(found.items())]


def impulses_along(levers: Sequence[Lever], nears: Sequence[Any], x: Sequence[Any]) -> Any:
    """Impulses ``X' x`` along the rows of the Jacobian by those ``x`` of the sets; of sets that are near, or all."""
    terms = [([nears[i] for i in which], [levers[i].along(x[i]) for i in which]) for _, which in spans_of(levers)]
    return concatenate([summed(*each) for each in terms])


def _allowed_residual(rounds: Any, digits: Digits) -> Any:
    """Residual that is permitted after so many rounds."""
    # slow rounds are not worth their cost: an error that is small beside other errors of a step is accepted
    grown = digits.left * rounds * rounds
    return (
        where(less(grown, MAX_VELOCITY_ERROR), grown, MAX_VELOCITY_ERROR)
        if digits.left * digits.rounds**2 > MAX_VELOCITY_ERROR
        else grown
    )


def _largest(x: Any) -> Any:
    largest = 0.0
    for size in absolute(x):
        largest = where(less(largest, size), size, largest + 0.0 * size)
    return largest


class _Round(NamedTuple):
    """State of the iteration at the start of a round."""

    x: list[Any]
    center: list[Any]
    best: list[Any]
    """impulses, each in its set, that came nearest to the law"""
    weight: Any
    reach: Any
    """``r`` of the law ``x = nearest(x - r u)``"""
    tries: Any
    """steps of Newton's method since there was another center or weight"""
    asked: Any
    """the square of the fault there"""
    rounds: Any
    """this one among them"""
    left: Any
    """error of the best against the contact law (m/s or rad/s)"""

    @classmethod
    def of(cls, z: Any, parts: Sequence[slice]) -> _Round:
        """Round of flat numbers."""
        size = parts[-1].stop
        return cls(*([z[k * size :][part] for part in parts] for k in range(3)), *z[3 * size :])

    @property
    def flat(self) -> Any:
        """All numbers."""
        return concatenate([*self.x, *self.center, *self.best, array([*self[3:]])])

    def unjammed(self, problem: _Problem, digits: Digits) -> tuple[_Round, _Problem]:
        """Round and problem with the friction of points that stick, anew from the best where that has changed."""
        friction, since = STICKING_FRICTION + 0.0 * self.rounds, self.rounds + 2.0
        for k, mu in enumerate(JAMMED_FRICTION, start=1):
            late = less(k * JAM_ROUNDS + 0.5, self.rounds)
            friction, since = where(late, mu, friction), where(late, self.rounds - k * JAM_ROUNDS, since)
        anew = less(since, 1.5)
        best, first = self.best, (digits.weights[0], 1.0, 0.0, 0.0, self.rounds, np.inf)
        now = _Round(
            problem.kept(_where(anew, best, self.x)),
            problem.kept(_where(anew, best, self.center)),
            best,
            *(where(anew, new, old) for new, old in zip(first, self[3:], strict=True)),
        )
        return now, problem._replace(sets=[s.limited(friction) for s in problem.sets])

    def found(self, problem: _Problem, at: _Evaluation) -> _Round:
        """Round with the impulses of the sets that are nearest there."""
        best = problem.kept(_differences(at.x, at.fault))
        return self._replace(best=best, rounds=self.rounds + 1.0, left=problem.left(at) / self.reach)

    def after(
        self, problem: _Problem, at: _Evaluation, once: _Evaluation, reached: list[Any], end: _Round, digits: Digits
    ) -> _Round:
        """Next round: from where steps have ``reached``, or back at the center, if they did not arrive.

        They have arrived where half of the fault is gone, or hardly more is left than the proximal term accounts for.
        """
        square, p, tries = problem.square, self.weight, self.tries + 1.0
        asked = where(less(self.tries, 0.5), square(at.fault), self.asked)
        proximal_square = p * p * square(_differences(once.x, self.center))
        arrived, late = (
            less(square(once.fault), 0.25 * asked + 4.0 * proximal_square),
            less(MAX_NEWTON_STEPS - 0.5, tries),
        )

        def chosen(new: Any, back: Any, on: Any) -> Any:
            return where(arrived, new, where(late, back, on))

        weaker, stronger, nearer = WEIGHT_DECREASE * p, WEIGHT_INCREASE * p, less(end.left, self.left)
        _, least, strong = digits.weights
        weaker, stronger = where(less(weaker, least), least, weaker), where(less(stronger, strong), strong, stronger)
        first = less(LATER_REACH, self.reach)
        return _Round(
            problem.kept(_where(arrived, reached, _where(late, self.center, once.x))),
            problem.kept(_where(arrived, reached, self.center)),
            problem.kept(_where(nearer, end.best, self.best)),
            chosen(weaker, where(first, p, stronger), p),
            chosen(self.reach, where(first, SHORT_REACH, LATER_REACH + 0.0 * p), self.reach),
            chosen(0.0, 0.0, tries),
            asked,
            end.rounds,
            where(nearer, end.left, self.left),
        )


class _Evaluation(NamedTuple):
    """Impulses, with the velocities and the residual that follow."""

    x: list[Any]
    V: Any
    """``G X' x``"""
    y: list[Any]
    """``x - r u - p (x - center)`` with ``u = short + X V``"""
    fault: list[Any]
    """``x - nearest(y)``"""


class _Problem(NamedTuple):
    """Rows scaled set by set, to a mean of 1 on the diagonal of ``X G X'``; lists have an entry for each set."""

    response: Response
    short: list[Any]
    sets: list[ImpulseSet]
    levers: list[Lever]
    units: list[Any]
    """units of impulses"""
    sizes: list[Any]
    """1 / units"""
    basis: Any
    """units of what ``G`` is of, one for each column"""
    soft: list[Any]
    """compliance of each set: like a proximal term about zero in the law"""
    nears: Sequence[Any]
    """condition of each set without which it has no impulse, or None"""

    @classmethod
    def of(
        cls,
        G: Response,
        short: Any,
        sets: Sequence[ImpulseSet],
        parts: list[slice],
        levers: Sequence[Lever],
        soft: Sequence[Any],
        nears: Sequence[Any],
    ) -> _Problem:
        """Problem of rows as they are."""
        sizes = [_size(G, lever) for lever in levers]
        units = [1.0 / size for size in sizes]
        scales: list[Any] = [1.0] * G.size
        for lever, d in zip(levers, units, strict=True):
            if lever.X is None:
                scales[lever.span] = [d] * (lever.span.stop - lever.span.start)
        basis = array(scales)
        return cls(
            G.scaled(basis),
            [scale(d, short[part]) for part, d in zip(parts, units, strict=True)],
            [one.scaled(d) for one, d in zip(sets, units, strict=True)],
            [lever if lever.X is None else lever._replace(unit=d) for lever, d in zip(levers, units, strict=True)],
            units,
            sizes,
            basis,
            [d * d * c for d, c in zip(units, soft, strict=True)],
            nears,
        )

    def along(self, x: Sequence[Any]) -> Any:
        """Impulses ``X' x``."""
        return impulses_along(self.levers, self.nears, x)

    def kept(self, x: Sequence[Any]) -> list[Any]:
        """Impulses of all sets: zero of those that are not near."""
        return [guarded(near, part) for near, part in zip(self.nears, x, strict=True)]

    def square(self, x: Sequence[Any]) -> Any:
        """Sum of the squares of all numbers."""
        return self._sum(range(len(x)), [part @ part for part in x])

    def _sum(self, which: Sequence[int], terms: Sequence[Any]) -> Any:
        return summed([self.nears[i] for i in which], terms)

    def at(self, x: list[Any], r: Any, center: list[Any] | None = None, p: Any = None, V: Any = None) -> _Evaluation:
        """Residual of impulses, given ``V = G X' x`` if it is known, with a proximal term about a center or without."""
        V = self.response.velocities(self.along(x)) if V is None else V
        given = zip(x, self.short, self.levers, self.soft, strict=True)
        y = [a - scale(r, short + lever.of(V) + scale(c, a)) for a, short, lever, c in given]
        if center is not None:
            y = [b - scale(p, a - c) for a, b, c in zip(x, y, center, strict=True)]
        return _Evaluation(x, V, y, [a - s.nearest(b) for s, a, b in zip(self.sets, x, y, strict=True)])

    def left(self, at: _Evaluation) -> Any:
        """``r`` times how far velocities are from the law at most (m/s or rad/s)."""
        patches: dict[int, list[Any]] = {}
        for f, d, near in zip(at.fault, self.sizes, self.nears, strict=True):
            patches.setdefault(id(near), [near]).append(scale(d, f))
        return _largest(array([guarded(near, _largest(concatenate(parts))) for near, *parts in patches.values()]))

    def newton(self, at: _Evaluation, p: Any, r: Any) -> Callable[[list[Any]], tuple[list[Any], Any]]:
        """Newton step as a function ``fault -> step, G X' step`` with ``(A + r D X G X') step = fault``.

        With ``y = X' step`` and ``E = r A^-1 D``, ``(1 + X' E X G) y = X' A^-1 fault``, and then
        ``step = A^-1 fault - E X G y``.
        """
        weights = [p + r * c for c in self.soft]
        E = [scale(r, slope.E) for slope in self.slopes(at, at.fault, weights)]
        K = [lever.congruent(e) for lever, e in zip(self.levers, E, strict=True)]
        blocks = [(span, self._sum(which, [K[i] for i in which])) for span, which in spans_of(self.levers)]
        solved = self.response.newton(blocks)

        def step(fault: list[Any]) -> tuple[list[Any], Any]:
            corrections = [slope.correction for slope in self.slopes(at, fault, weights)]
            V, y = solved(self.along(corrections))
            steps = [
                y[lever.span] if lever.X is None else correction - e @ lever.of(V)
                for lever, e, correction in zip(self.levers, E, corrections, strict=True)
            ]
            return steps, V

        return step

    def slopes(self, at: _Evaluation, fault: list[Any], weights: Sequence[Any]) -> list[ProjectionSlope]:
        """Linearized projections of all sets."""
        return [s.slope(y, f, p) for s, y, f, p in zip(self.sets, at.y, fault, weights, strict=True)]


def _size(G: Response, lever: Lever) -> Any:
    """Root of the mean diagonal; of a row that nothing moves so much that it has no impulse.

    A planar loop has such a row out of its plane.
    """
    mean = G.mean_diagonal(lever)
    return sqrt(mean if lever.X is not None else where(less(MIN_DIAGONAL, mean), mean, UNMOVED_DIAGONAL + 0.0 * mean))


def _differences(x: Sequence[Any], y: Sequence[Any]) -> list[Any]:
    return [a - b for a, b in zip(x, y, strict=True)]


def _where(condition: Any, x: Sequence[Any], y: Sequence[Any]) -> list[Any]:
    return [where(condition, a, b) for a, b in zip(x, y, strict=True)]
