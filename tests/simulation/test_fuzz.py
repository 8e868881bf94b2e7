"""Random runs: none hangs, none lies; ``FALLINGCAT_FUZZ_SECONDS`` says for how long to look."""

import os
import secrets

import pytest
from simulation_fuzzer import case, check, fuzz

# a run of no duration; an event with two zeros in a step that another cuts short; a function on a body without joints
BROKE_ONCE = [1853231235, 2114358302, 1164174762]


@pytest.mark.parametrize("seed", [*range(12), *BROKE_ONCE])
def test_random_runs(seed):
    check(case(seed))


@pytest.mark.slow
def test_random_runs_at_length():
    """Elsewhere each time; a failure names its seed."""
    ends = fuzz(float(os.environ.get("FALLINGCAT_FUZZ_SECONDS", "600")), secrets.randbelow(2**31))
    assert ends.total() > 10
