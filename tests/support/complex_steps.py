"""Derivatives of steps by complex numbers: the traced step itself runs on them, iterations and all."""

import numpy as np

from fallingcat.arrays import Graph
from fallingcat.simulation.integrators.implicit import integrator as implicit
from fallingcat.simulation.integrators.implicit.step import converged
from fallingcat.simulation.steps.step_code import simulation_step

H = 1e-40
"""imaginary step: squares of it vanish"""


def polished(start, signs, tolerance=1e-3):
    """Newton sweeps beyond convergence: an iteration carries derivatives one sweep behind values."""
    found = converged(start, signs, 1e-10)
    for _ in range(3):
        found = start.sweep(found.prediction, start.newton)
    return found


class ComplexStep:
    """A :class:`fallingcat.simulation.Step` on complex numbers."""

    def __init__(self, step, monkeypatch):
        self.step, self.graph = step, Graph(True)
        shapes = step._shapes
        given = {name: self.graph.inputs(f"{name}_", size) for name, size in shapes.items()}
        with monkeypatch.context() as patch:
            patch.setattr(implicit, "converged", polished)
            out = simulation_step(step.model, **given, **step._options)
        self.outputs, self.sizes = [x for part in out for x in part], [len(part) for part in out]
        self.names = [(name, i) for name, size in shapes.items() for i in range(size)]

    def __call__(self, *given):
        """Parts of the result; hard contacts start from the forces that they have found, as values are."""
        numbers = np.concatenate([np.asarray(x, dtype=complex) for x in given])
        values = {f"{name}_{i}": complex(x) for (name, i), x in zip(self.names, numbers, strict=True)}
        flat = np.array(self.graph.evaluate(self.outputs, values), dtype=complex)
        return np.split(flat, np.cumsum(self.sizes)[:-1])

    def jacobian(self, *given):
        """``x+`` by ``x``, forces and inputs, in the tangent space."""
        model, nv = self.step.model, self.step.model.nv
        group, (q, v, *rest) = model.configuration, [np.asarray(x, dtype=float) for x in given]
        moves = (group.integrate(q.astype(complex), 1j * H * d) for d in np.eye(nv))
        columns = [self._along(group, moved, v, *rest) for moved in moves]
        for i, part in enumerate((v, *rest)):
            for d in np.eye(len(part)):
                moved = [v, *rest]
                moved[i] = part + 1j * H * d
                columns.append(self._along(group, q, *moved))
        return np.array(columns).T

    def _along(self, group, q, *rest):
        after, *others = self(q, *rest)
        if self.step.integrator.name == "moreau":  # once more, from the impulses that were found
            kept = np.array(rest[1], dtype=complex)
            kept[: len(others[1])] = others[1]
            counts = np.asarray(rest[1])[-3:]  # left, and counts of steps
            kept[-3:] = counts
            after, *others = self(q, rest[0], kept, *rest[2:])
        change = np.imag(group.between(np.real(after).astype(complex), after)) / H
        return np.concatenate([change, *(np.imag(x) / H for x in others)])
