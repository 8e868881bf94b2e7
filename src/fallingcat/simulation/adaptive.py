"""SciPy's adaptive methods on a local chart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import concatenate
from ..contact import Contact
from ..contact.contact import Mode
from ..control import Law
from ..errors import ExtraMissingError, NumericsError
from ..kernels import compile
from ..model import Model, State
from .field import Field, layout_of
from .integrator import Integrator, Step
from .system import System


@dataclass(frozen=True)
class SciPy(Integrator):
    """``scipy.integrate.solve_ivp`` from one sample to the next, in exponential coordinates around the sample.

    ``method`` is one of SciPy's: ``DOP853``, ``RK45``, ``RK23``, ``Radau``, ``BDF``, ``LSODA``.  It takes as many steps
    inside an interval as its tolerances ask for; the order is that of the tolerances, not of the samples.
    """

    method: str = "DOP853"
    rtol: float = 1e-10
    atol: float = 1e-12
    name = "scipy"
    order = 8

    def stepper(self, system: System, mode: Mode, memory: int) -> Step:
        try:
            from scipy.integrate import solve_ivp
        except ImportError:
            raise ExtraMissingError("scipy", purpose="the integrator 'scipy'") from None
        layout, m = layout_of(system, memory), system.model.m
        slope = _compiled(system, mode, memory) if system.compilable else None

        def run(packed: np.ndarray, clock: np.ndarray) -> np.ndarray:
            field = Field(system, mode, *layout.unpack(packed, m))
            t, dt = float(clock[0]), float(clock[1])
            f = field if slope is None else (lambda s, y: slope(packed, y, np.array([s])))
            found = solve_ivp(f, (t, t + dt), field.origin, method=self.method, rtol=self.rtol, atol=self.atol)
            if not found.success:
                raise NumericsError(f"SciPy's {self.method}: {found.message}", time=t)
            after, remembered, works = field.end(found.y[:, -1])
            guards = system.guards(mode, t + dt, after, remembered)
            return np.concatenate([layout.pack(after, remembered, works), guards, np.zeros(1)])

        return run


def _compiled(system: System, mode: Mode, memory: int) -> Any:
    """The field as machine code: ``(packed start, y, [t]) -> dy/dt``."""
    layout, model = layout_of(system, memory), system.model
    sizes = {"packed": layout.size, "y": 2 * layout.nv + memory + layout.works, "clock": 1}
    options: dict[str, Any] = {"laws": system.laws, "contact": system.contact, "mode": mode, "memory": memory}
    kernel = compile(model, slope, sizes=sizes, **options)
    neutral = model.flatten(model.neutral())[0]
    return lambda packed, y, clock: kernel(neutral, packed, y, clock)


def slope(
    model: Model,
    state: State,
    packed: Any,
    y: Any,
    clock: Any,
    *,
    laws: tuple[Law, ...],
    contact: Contact | None,
    mode: Mode,
    memory: int,
) -> Any:
    """``dy/dt`` around the packed start; ``state`` is not looked at."""
    system = System(model, laws, contact)
    return concatenate([Field(system, mode, *layout_of(system, memory).unpack(packed, model.m))(clock[0], y)])
