"""Many processes share one cache, which others clear, cut, damage and date into the future meanwhile.

``FALLINGCAT_FUZZ_SECONDS=60 pytest -m slow tests/compiler/cache/test_races.py`` runs for a minute.
"""

import os
import subprocess
import sys
import time

import pytest
from fuzzing import SECONDS

PROGRAM = """
import os, random, sys, time, warnings
import numpy as np
import fallingcat as fc
from fallingcat.compiler.cache import files as cache
seed, end = int(sys.argv[1]), time.monotonic() + float(sys.argv[2])
rng, folder = random.Random(seed), os.path.join(os.environ["FALLINGCAT_CACHE"], "kernels")
robots = [fc.robots.two_cylinder_cat(), fc.robots.planar_arm(), fc.robots.revolute_hopper()]
functions = [fc.mass_matrix, fc.inverse_dynamics, fc.center_of_mass, fc.kinetic_energy]
count = 0

def accident():
    names = os.listdir(folder) if os.path.isdir(folder) else []
    if not names:
        return
    path, kind = os.path.join(folder, rng.choice(names)), rng.randrange(7)
    try:
        if kind == 0:
            cache.clear()
        elif kind == 1:
            os.truncate(path, rng.randrange(1 + os.path.getsize(path)))
        elif kind == 2:
            with open(path, "r+b") as file:
                file.seek(rng.randrange(1 + os.path.getsize(path)))
                file.write(bytes([rng.randrange(256)]))
        elif kind == 3:  # clocks that went wrong
            os.utime(path, (time.time() + rng.choice([-1e9, 1e9]),) * 2)
        elif kind == 4:
            os.unlink(path)
        elif kind == 5:
            os.replace(path, os.path.join(folder, rng.choice(names)))
        else:
            os.environ["FALLINGCAT_CACHE_MIB"] = rng.choice(["0", "1", "0.02", "256"])
    except OSError:
        pass

while time.monotonic() < end:
    robot, function = rng.choice(robots), rng.choice(functions)
    state = robot.random_state(np.random.default_rng(rng.randrange(2**32)))
    more = [np.ones(robot.nv)] if function is fc.inverse_dynamics else []
    kernel = fc.compile(robot, function)
    truth = function(robot, state, *more)
    np.testing.assert_allclose(kernel(state, *more), truth, rtol=1e-9, atol=1e-9)
    if rng.random() < 0.3:
        q, v = (np.tile(x, (20, 1)) for x in robot.flatten(state))
        many = kernel(q, v, *(np.tile(x, (20, 1)) for x in more)) if len(kernel.signature) > 1 else kernel(q)
        np.testing.assert_allclose(many[7], truth, rtol=1e-9, atol=1e-9)
    if rng.random() < 0.5:
        accident()
    count += 1
    del kernel
print(count)
"""


def raced(tmp_path, seconds, processes):
    """Compilations of all of them."""
    environment, first = {**os.environ, "FALLINGCAT_CACHE": str(tmp_path / "cache")}, time.time_ns() % 10**6
    words = [sys.executable, "-W", "error", "-c", PROGRAM]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    running = [
        subprocess.Popen([*words, str(first + k), str(seconds)], env=environment, text=True, **pipes)
        for k in range(processes)
    ]
    ends = [process.communicate(timeout=seconds + 300) for process in running]
    for process, (_, said) in zip(running, ends, strict=True):
        assert process.returncode == 0, (process.returncode, said[-3000:])
    return sum(int(out) for out, _ in ends)


@pytest.mark.slow
def test_processes_share_a_cache_that_is_broken_meanwhile(tmp_path):
    assert raced(tmp_path, SECONDS, 4) > 20
