"""Mutants of equations of motion: single entries off by 1e-6 of their own scale, single terms of the formulas dropped.

`python tests/support/mutants.py --entries 6` prints how many the certificates catch, per formulation and factorization.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from formulation_changes import changes
from random_robots import BASES, Robot, build, rng_of

import fallingcat as fc
from fallingcat.formulations.certificate import certify
from fallingcat.formulations.evidence import Evidence
from fallingcat.formulations.links import Links, over_links
from fallingcat.lie import SE3, Trivial

SIZE = 1e-6
"""Of a wrong entry, in units of its own scale."""
SAME = 1e-13
"""Two sets of equations that differ by less, in the same units, are the same: the dropped term vanishes."""


REDUCED = ("reduced", "two-part")


class Mutant(NamedTuple):
    name: str
    eom: fc.EquationsOfMotion
    seen: Evidence


class Case(NamedTuple):
    """Right equations, with what is needed to make them wrong."""

    links: Links
    body: fc.EquationsOfMotion
    change: fc.VelocityChange
    eom: fc.EquationsOfMotion
    seen: Evidence


class Scales(NamedTuple):
    """The own scale of each entry, from the diagonal of the mass matrices: `(M_ii M_jj)^1/2`, times a natural rate:
    the larger of that of the Coriolis matrix and of the fastest velocity.
    """

    M: np.ndarray
    C: np.ndarray
    Mdot: np.ndarray
    g: np.ndarray
    v: np.ndarray
    T: np.ndarray
    T_dot: np.ndarray
    inverse: np.ndarray


def scales(case: Case) -> Scales:
    x, y = np.sqrt(np.diag(case.body.M)), np.sqrt(np.diag(case.eom.M))
    M = np.outer(y, y)
    rate = max(*(np.abs(X / M).max() for X in (case.eom.C, case.eom.Mdot)), np.abs(case.body.v).max()) or 1.0
    g = y * (np.abs(case.eom.g / y).max() or 1.0)
    v = (np.abs(case.eom.v * y).max() or 1.0) / y
    T = np.outer(1.0 / y, x)
    return Scales(M, rate * M, rate * M, g, v, T, rate * T, np.outer(1.0 / x, y))


def robots(count: int) -> list[Robot]:
    """`count` robots with a free base, and as many with the other bases in turn; 1 to 4 joints of any kind."""
    free = [Robot(SE3(), 1 + i % 4, 100 + i) for i in range(count)]
    return free + [Robot(BASES[1 + i % (len(BASES) - 1)], 1 + i % 4, 200 + i) for i in range(count)]


def cases(recipe: Robot) -> Iterator[tuple[str, str, Case]]:
    """Every formulation with every factorization."""
    model, state = build(recipe)
    links = Links(model, state)
    suited = changes(model, state, rng_of(recipe))
    if model.n >= model.m and not isinstance(model.base, Trivial):
        with contextlib.suppress(fc.NumericsError):  # a link may have no internal velocity of its own
            suited["internal/external"] = fc.changes.internal_external(model, state, model.link_names[-1])
    for name, change in suited.items():
        seen = Evidence(links, change)
        for factorization in fc.dynamics.FACTORIZATIONS:
            body = fc.equations(model, state, factorization)
            yield name, factorization, Case(links, body, change, body.change(change), seen)


def wrong_entries(case: Case, entries: int | None, rng: np.random.Generator) -> Iterator[Mutant]:
    """`entries` of each matrix (all of them if None), each alone."""
    own = scales(case)
    for field in own._fields:
        scale = getattr(own, field)
        places = list(np.ndindex(*scale.shape))
        if entries is not None and len(places) > entries:
            places = [places[i] for i in rng.choice(len(places), entries, replace=False)]
        for place in places:
            owner: Any = case.change if field in ("T", "T_dot", "inverse") else case.eom
            X = getattr(owner, field).copy()
            X[place] += SIZE * scale[place]
            wrong = replace(owner, **{field: X})
            name = f"{field}{list(place)}"
            yield changed(case, name, wrong) if owner is case.change else Mutant(name, wrong, case.seen)


def changed(case: Case, name: str, change: fc.VelocityChange) -> Mutant:
    return Mutant(name, case.body.change(change), Evidence(case.links, change))


def dropped_terms(case: Case) -> Iterator[Mutant]:
    """Single terms of the formulas of a change, and of the Coriolis matrix."""
    body, eom, change = case.body, case.eom, case.change
    Ti, m = change.inverse, body.model.m
    turn = eom.M @ change.T_dot @ Ti
    for name, wrong in {
        "C without -M_y dT/dt T^-1": {"C": eom.C + turn},
        "C with half of -M_y dT/dt T^-1": {"C": eom.C + 0.5 * turn},
        "C not transformed": {"C": body.C - turn},
        "Mdot without -M_y dT/dt T^-1": {"Mdot": eom.Mdot + turn},
        "Mdot without its transpose": {"Mdot": eom.Mdot + turn.T},
        "Mdot without T^-T dM/dt T^-1": {"Mdot": -turn - turn.T},
        "M without T^-1 on the right": {"M": Ti.T @ body.M},
        "M without T^-T on the left": {"M": body.M @ Ti},
        "g without T^-T": {"g": body.g},
        "v without T": {"v": body.v},
        "C without its skew part": {"C": 0.5 * (eom.C + eom.C.T)},
        "C without its symmetric part": {"C": 0.5 * (eom.C - eom.C.T)},
    }.items():
        yield Mutant(name, replace(eom, **wrong), case.seen)
    for name, term in coriolis_terms(case).items():
        yield Mutant(f"C without {name}", replace(eom, C=eom.C - Ti.T @ term @ Ti), case.seen)
    for block, rows, columns in (("xx", slice(m), slice(m)), ("xy", slice(m), slice(m, None)),
                                 ("yy", slice(m, None), slice(m, None))):  # fmt: skip
        T_dot = change.T_dot.copy()
        T_dot[rows, columns] = 0.0
        yield changed(case, f"T_dot without its block {block}", replace(change, T_dot=T_dot))
    yield changed(case, "T_dot of the wrong sign", replace(change, T_dot=-change.T_dot))
    inverse = Ti.copy()
    inverse[:m, m:] = 0.0
    yield changed(case, "inverse without its block xy", replace(change, inverse=inverse))
    yield changed(case, "inverse transposed", replace(change, inverse=Ti.T))


def coriolis_terms(case: Case) -> dict[str, np.ndarray]:
    """The terms of `C = sum J' (B J + L dJ/dt)`, or of [Feurstein] (3.39), for body-fixed velocities."""
    links, m = case.links, case.body.model.m
    J, L = links.J, links.inertia
    ad = np.array([SE3().ad(nu) for nu in J @ links.state.velocity])
    adt = np.array([SE3().adt(h) for h in (L @ (J @ links.state.velocity)[:, :, None])[:, :, 0]])
    right, left = over_links(J, L @ ad, J), -over_links(J, ad.transpose(0, 2, 1) @ L, J)
    coadjoint, rate = -over_links(J, adt, J), over_links(J, L, links.J_dot)
    if case.eom.factorization == "hamel":
        E = case.body.Mdot - case.body.C
        blocks = {"dM/dt": case.body.Mdot}
        for name, rows, columns in (("E_bb, E_bq", slice(m), slice(None)), ("E_qb", slice(m, None), slice(m)),
                                    ("E_qq", slice(m, None), slice(m, None))):  # fmt: skip
            blocks[name] = np.zeros_like(E)
            blocks[name][rows, columns] = -E[rows, columns]
        return blocks
    terms = {
        "newton_euler": {"-ad' L": left},
        "passive": {"L ad": right, "-ad' L": left},
        "coadjoint": {"the coadjoint term": coadjoint},
        "christoffel": {
            "L ad / 2": 0.5 * right,
            "-ad' L / 2": 0.5 * left,
            "half of the coadjoint term": 0.5 * coadjoint,
            "its passive half": 0.5 * (right + left + rate),
            "its coadjoint half": 0.5 * (coadjoint + rate),
        },
    }[case.eom.factorization]
    return terms | {"L dJ/dt": rate}


def is_same(mutant: Mutant, case: Case) -> bool:
    """Whether the mutant is the right set of equations: what was dropped is zero."""
    own = scales(case)
    pairs = [(mutant.eom, case.eom, f) for f in ("M", "C", "Mdot", "g", "v")]
    pairs += [(mutant.seen.change, case.change, f) for f in ("T", "T_dot", "inverse")]
    return all((np.abs(getattr(a, f) - getattr(b, f)) <= SAME * getattr(own, f)).all() for a, b, f in pairs)


def wrong_reduced(
    rel: fc.ReducedEquations, entries: int | None, rng: np.random.Generator
) -> Iterator[tuple[str, fc.ReducedEquations, bool]]:
    """Mutants of the reduced equations, and whether each is the right set."""
    s, m = np.sqrt(np.diag(rel.Lambda)), len(rel.mu)
    M, x, y = np.outer(s, s), s[:m], s[m:]
    rate = max(*(np.abs(D / M).max() for D in (rel.D_q, rel.D_mu)), np.abs(rel.xi).max()) or 1.0
    force, speed = np.abs(rel.g / s).max() or 1.0, np.abs(rel.xi * s).max() or 1.0
    C = rate * M
    own = {"Mb": M[:m, :m], "Lq": M[m:, m:], "A": np.outer(1.0 / x, y), "mu": speed / x, "P": C[:m, :m], "S": C[:m, m:],
           "Gamma": C[m:, m:], "B": C[m:, m:], "D_q": C, "D_mu": C, "g": force * s, "xi": speed / s}  # fmt: skip
    for field, scale in own.items():
        places = list(np.ndindex(*scale.shape))
        if entries is not None and len(places) > entries:
            places = [places[i] for i in rng.choice(len(places), entries, replace=False)]
        for place in places:
            X = getattr(rel, field).copy()
            X[place] += SIZE * scale[place]
            yield f"{field}{list(place)}", rel._replace(**{field: X}), False
    for field, block, rows, columns in (
        ("D_q", "P / 2", slice(m), slice(m)),
        ("D_q", "Gamma", slice(m, None), slice(m, None)),
        ("D_mu", "adt(Mb mu)", slice(m), slice(m)),
        ("D_mu", "S / 2 + adt(Mb mu) A", slice(m), slice(m, None)),
        ("D_mu", "B", slice(m, None), slice(m, None)),
    ):
        X = getattr(rel, field).copy()
        X[rows, columns] = 0.0
        same = bool((np.abs(X - getattr(rel, field)) <= SAME * C).all())
        yield f"{field} without {block}", rel._replace(**{field: X}), same


class Score(NamedTuple):
    caught: int = 0
    survived: tuple[str, ...] = ()
    equivalent: tuple[str, ...] = ()

    def counted(self, name: str, verdict: str, same: bool) -> Score:
        if verdict == "broken":
            return self._replace(caught=self.caught + 1)
        if same:
            return self._replace(equivalent=(*self.equivalent, name))
        return self._replace(survived=(*self.survived, name))


def score(
    recipes: list[Robot], entries: int | None = None, only: frozenset[str] | None = None
) -> dict[tuple[str, str], Score]:
    """Mutants caught, survived and equivalent for each formulation (or some) and factorization."""
    found: dict[tuple[str, str], Score] = {}
    for recipe in recipes:
        rng = rng_of(recipe)
        for formulation, factorization, case in cases(recipe):
            if not case.eom.v.size or (only and formulation not in only):
                continue
            right = certify(case.eom, seen=case.seen)
            assert right.passed, f"{recipe}, {formulation}: {right}"
            key = formulation, factorization
            for mutant in (*wrong_entries(case, entries, rng), *dropped_terms(case)):
                verdict = certify(mutant.eom, seen=mutant.seen).verdict
                same = verdict != "broken" and is_same(mutant, case)
                found[key] = found.get(key, Score()).counted(mutant.name, verdict, same)
        model, state = build(recipe)
        if model.m and model.n:
            rel = fc.reduced_equations(model, state)
            assert fc.formulations.certify_reduced(model, state).passed
            for name, wrong, same in wrong_reduced(rel, entries, rng):
                verdict = fc.formulations.certify_reduced(model, state, wrong).verdict
                found[REDUCED] = found.get(REDUCED, Score()).counted(name, verdict, same)
    return found


def merged(parts: Iterable[dict[tuple[str, str], Score]]) -> dict[tuple[str, str], Score]:
    """The scores of several robots as one."""
    found: dict[tuple[str, str], Score] = {}
    for part in parts:
        for key, s in part.items():
            t = found.get(key, Score())
            found[key] = Score(t.caught + s.caught, t.survived + s.survived, t.equivalent + s.equivalent)
    return found


def table(found: dict[tuple[str, str], Score]) -> str:
    """The scores in lines, what survived and what is equivalent by name, and the sum."""
    lines = []
    for (formulation, factorization), s in found.items():
        counts = f"caught {s.caught:6,}  survived {len(s.survived)}  equivalent {len(s.equivalent)}"
        lines.append(f"{formulation:22} {factorization:13} {counts}")
        lines += [f"    SURVIVED {name}: {s.survived.count(name)}" for name in sorted(set(s.survived))]
    equivalent = [name for s in found.values() for name in s.equivalent]
    lines += [f"equivalent: {name}: {equivalent.count(name):,}" for name in sorted(set(equivalent))]
    caught, survived = sum(s.caught for s in found.values()), sum(len(s.survived) for s in found.values())
    lines.append(f"{caught:,} of {caught + survived:,} mutants caught; {len(equivalent):,} more are equivalent")
    return "\n".join(lines)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--robots", type=int, default=24, help="with a free base, and as many with other bases")
    options.add_argument("--entries", type=int, help="of each matrix; all if left out")
    options.add_argument("--workers", type=int, default=1)
    given = options.parse_args()
    with ProcessPoolExecutor(given.workers) as pool:
        parts = pool.map(score, [[recipe] for recipe in robots(given.robots)], repeat(given.entries))
    sys.stdout.write(table(merged(parts)) + "\n")


if __name__ == "__main__":
    main()
