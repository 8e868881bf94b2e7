"""Processors that have less than this one."""

import os
import platform
import subprocess
import sys

import pytest

PROGRAM = """
import llvmlite.binding as llvm

class Features(dict):
    def flatten(self):
        return ""

llvm.get_host_cpu_name, llvm.get_host_cpu_features = (lambda: "x86-64"), Features
import numpy as np
import fallingcat as fc
from fallingcat.compiler.cpu import native

assembly = []
emitted = llvm.TargetMachine.emit_object
def emit_object(machine, module):
    assembly.append(machine.emit_assembly(module))
    return emitted(machine, module)
llvm.TargetMachine.emit_object = emit_object

assert (native.cpu().width, native.cpu().fma) == (16, False)
dog = fc.robots.quadruped()
states = dog.random_state(np.random.default_rng(0), 7)
kernel = fc.compile(dog, fc.forward_dynamics)
many, one = kernel(states, np.zeros((7, dog.nv))), kernel(states.at(3), np.zeros(dog.nv))
wanted = np.array([fc.forward_dynamics(dog, states.at(i), np.zeros(dog.nv)) for i in range(7)])
assert np.array_equal(many[3], one)
np.testing.assert_allclose(many, wanted, rtol=1e-10, atol=1e-10 * np.abs(wanted).max())
feet = tuple(frame.name for frame in dog.frames)
ground = fc.contact.CompliantFloor(feet, friction=0.8)
assert fc.simulate(dog, dog.standing(ground, [0.0, 0.6, -1.2] * 4), 0.01, contact=ground).status == "finished"
print(sum("xmm" in text for text in assembly), sum("ymm" in text or "zmm" in text for text in assembly))
"""


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names registers of x86-64")
def test_a_machine_without_avx_runs_the_same_kernels(tmp_path):
    """The first x86-64 processor has SSE2 and no fused products: code for it uses no wider registers."""
    environment = {**os.environ, "FALLINGCAT_CACHE": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    narrow, wide = map(int, done.stdout.split())
    assert narrow > 0
    assert wide == 0
