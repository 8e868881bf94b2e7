"""Mutation proof: equations that are wrong in one entry by 1e-6, or miss one term, never pass."""

import pytest
from mutants import Score, robots, score, table
from random_robots import Robot

from fallingcat.lie import SE2, SE3

SOME = frozenset({"body", "inertial", "centroidal", "momentum map"})


def survivors(found):
    return {key: s.survived for key, s in found.items() if s.survived}


@pytest.mark.parametrize("recipe", [Robot(SE3(), 2, 100), Robot(SE2(), 3, 201)], ids=["free", "planar"])
def test_no_mutant_passes(recipe):
    found = score([recipe], entries=1, only=SOME)
    assert not survivors(found), table(found)
    assert sum(s.caught for s in found.values()) > 400


@pytest.mark.slow
def test_no_mutant_of_many_robots_passes():
    """Every formulation with every factorization, each on at least 20 robots."""
    found = score(robots(24), entries=6)
    assert not survivors(found), table(found)


def test_what_is_equivalent_misses_nothing():
    """A mutant counts as equivalent only when it is the right set of equations: the dropped term is zero."""
    found = score([Robot(SE2(), 2, 100)], entries=1, only=frozenset({"body", "mixed"}))
    body, mixed = found["body", "christoffel"].equivalent, found["mixed", "christoffel"].equivalent
    assert "C without -M_y dT/dt T^-1" in body
    assert "C without -M_y dT/dt T^-1" not in mixed
    assert not any("half of the coadjoint" in name for name in (*body, *mixed))


def test_a_survivor_would_be_counted():
    s = Score().counted("a", "broken", False).counted("b", "holds", True).counted("c", "unproved", False)
    assert (s.caught, s.equivalent, s.survived) == (1, ("b",), ("c",))
    assert "SURVIVED c: 1" in table({("f", "g"): s})
