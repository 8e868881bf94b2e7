"""SciPy's adaptive methods on a local chart."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from ...contact.base import Mode
from ...dynamics.checks import choice, positive
from ...errors import ExtraMissingError, NumericsError
from ..problem.problem import Problem
from ..problem.vector_field import VectorField, layout_of
from .base import Integrator, Step
from .rule import compiled_slope

METHODS = ("DOP853", "RK45", "RK23", "Radau", "BDF", "LSODA")


@dataclass(frozen=True)
class SciPy(Integrator):
    """Integrator of ``scipy.integrate.solve_ivp``, in exponential coordinates around each sample.

    ``method`` is one of SciPy's: ``DOP853``, ``RK45``, ``RK23``, ``Radau``, ``BDF``, ``LSODA``.  It takes as many steps
    from one sample to the next as its tolerances ask for; the order is that of the tolerances, not of the samples.

    Example:
        >>> import fallingcat as fc
        >>> method = fc.simulation.SciPy("Radau", rtol=1e-8)
        >>> method.name, method.method
        ('scipy', 'Radau')
    """

    method: str = "DOP853"
    rtol: float = 1e-10
    atol: float = 1e-12
    name = "scipy"
    order = 8

    def __post_init__(self) -> None:
        choice(self.method, METHODS, "method")
        positive(self.rtol, "rtol")
        positive(self.atol, "atol")

    def stepper(self, problem: Problem, mode: Mode, memory: int) -> Step:
        """Function that integrates from one sample to the next."""
        try:
            from scipy.integrate import solve_ivp
        except ImportError:
            raise ExtraMissingError("scipy", purpose="the integrator 'scipy'") from None
        layout = layout_of(problem, memory)
        slope = compiled_slope(problem, mode, memory) if problem.compilable else None

        def run(packed: np.ndarray, clock: np.ndarray) -> np.ndarray:
            field = VectorField(problem, mode, *layout.unpack(packed), slope)
            t, dt = float(clock[0]), float(clock[1])
            asked = functools.partial(_finite, field)
            found = solve_ivp(asked, (t, t + dt), field.origin, method=self.method, rtol=self.rtol, atol=self.atol)
            if not found.success:
                raise NumericsError(f"SciPy's {self.method}: {found.message}", time=t)
            after, full_memory, works = field.end(found.y[:, -1])
            guards = problem.touched(mode, t + dt, after, full_memory).guards
            return np.concatenate([layout.pack(after, full_memory, works), guards, np.zeros(1)])

        return run


def _finite(field: VectorField, t: float, y: np.ndarray) -> np.ndarray:
    """``dy/dt``; SciPy would look for a step that gets past a NaN for ever."""
    slope = np.asarray(field(t, y))
    if not np.isfinite(slope).all():
        raise NumericsError("the acceleration is not finite", time=t)
    return slope
