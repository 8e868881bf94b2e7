"""Profiles of hypothesis: `ci` (the default) is reproducible, `slow` looks further and elsewhere each time.

`long.txt` lists cases that take longest and have a sibling that is quicker: they run with the slow ones.
"""

import gc
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

LONG = frozenset(Path(__file__).with_name("long.txt").read_text(encoding="utf-8").splitlines())


gc.disable()  # until all is collected: modules do not go again


def pytest_collection_finish():
    """The garbage collector leaves out the million objects of imported packages, and looks at old ones less often."""
    gc.freeze()
    gc.set_threshold(700, 10, 100)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if item.nodeid in LONG:
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Neighbours in one process: what a file prepares and compiles once is not prepared in every worker."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getoption("dist") == "load" else None


# JAX compiles most of the time that its tests take: here it may leave out what makes code fast
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")

# No deadlines: the first call of a JAX or CasADi function compiles it, and timings are no behaviour.
settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    max_examples=25,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("slow", settings.get_profile("ci"), derandomize=False, max_examples=2000)
settings.load_profile("ci")  # `pytest --hypothesis-profile=slow` overrides it
