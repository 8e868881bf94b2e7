"""Conditions that outlive the chunk in which they were decided."""

import numpy as np

import fallingcat as fc
from fallingcat.arrays import array, less, where
from fallingcat.compiler import compile
from fallingcat.compiler.cpu import machine_code
from fallingcat.compiler.ir import program


def late_choice(model, state):
    """A condition made first and used last, with far more than a chunk between."""
    q = state.joints
    turned = less(q[0], q[1])
    long_way = q[0]
    for i in range(400):
        long_way = long_way * (q[1] + 0.001 * i) + q[0]
    return array([where(turned, long_way, -long_way), where(turned, q[0], q[1])])


def test_conditions_cross_chunks(monkeypatch):
    cat = fc.robots.two_cylinder_cat()
    monkeypatch.setattr(machine_code, "program", lambda *a, **k: program.program(*a, **(k | {"chunk": 50})))
    native = compile(cat, late_choice)
    for joints in ([0.1, 0.3], [0.4, -0.2]):
        state = cat.state(joints=joints)
        q, v = cat.flatten(state)
        got = native(q) if len(native.signature) == 1 else native(q, v)
        np.testing.assert_allclose(got, late_choice(cat, state).astype(float), rtol=1e-13)
        np.testing.assert_array_equal(native(np.stack([q, q]))[1] if len(native.signature) == 1 else got, got)
