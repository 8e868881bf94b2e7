"""The momentum-exact midpoint rule: free flight in which no momentum can be lost.

Seen from its center of mass a robot in free flight neither falls nor drifts: the center follows its parabola exactly,
and the angular momentum about it never changes.  What is left to integrate is the shape, in its canonical momentum; the
base turns along by reconstruction on the group, ``R exp(dt w)``, with the angular velocity that momentum and shape
leave it ([Mishra] (9)).

The rule is variational: it makes the sum of ``dt l(w, (q0 + q1)/2, (q1 - q0)/dt)`` stationary, where ``l`` is the
Lagrangian seen from the center of mass and ``R1 = R0 exp(dt w)``.  So it is symplectic, and keeps the angular momentum
``k = R0 dexp(dt w)^-T dl/dw`` that belongs to that sum exactly.

Loops within the robot are equations between its joints, ``e(q) = 0``.  The same sum, stationary among shapes that are
closed, has impulses ``J' x`` of the loops at both ends of a step (RATTLE): those at its start close the loops at its
end, those at its end take away velocities that would open them.  All of the above stays true.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..contact.contact import Mode
from ..control.law import pulls_on_base
from ..dynamics import center_of_mass, momentum
from ..errors import ModelError, NumericsError
from ..kernels import compile
from ..lie import SE3
from ..model import State
from .field import layout_of
from .integrator import Integrator, Step
from .momentum_step import ITERATIONS, LOOSE, NEVER, Guess, Parabola, arrived, slack, stepped
from .system import System


@dataclass(frozen=True)
class MomentumMidpoint(Integrator):
    """Order 2, symmetric in time; momentum is exact to rounding, energy has no trend.

    For robots whose base is free, whose joints are angles and lengths, and on which nothing pulls but gravity; loops
    between their own links and joints are closed, to rounding, at the end of every step.
    """

    name = "momentum"
    order = 2

    def stepper(self, system: System, mode: Mode, memory: int) -> Step:
        check(system)
        return FreeFlight(system)


class FreeFlight:
    """Steps of one free flight, which carry parabola and angular momentum along instead of measuring them anew."""

    def __init__(self, system: System) -> None:
        self.system, self.layout, self.carried = system, layout_of(system, 0), np.zeros(0)
        model, asked = system.model, system.controller is not None
        sizes = {"guess": len(Guess.first(model, np.zeros(model.nv))), "given": model.n} if asked else {}
        inputs = {"packed": self.layout.size, "carried": 10, "clock": 2, "guess": 0, "given": 0} | sizes
        self.kernel = compile(model, stepped, inputs=inputs, laws=system.laws, asked=asked)
        self.nothing = np.zeros(0)

    def __call__(self, packed: np.ndarray, clock: np.ndarray) -> np.ndarray:
        """``[packed; 0]`` after the step."""
        if not len(self.carried):
            self._carry(clock[0], self.layout.unpack(packed)[0])
        if self.system.controller is None:
            out = self.kernel(packed, self.carried, clock, self.nothing, self.nothing)
        else:
            out = self._asking(packed, clock)
        self._check(float(out[-1]), *clock)
        return np.array(out[: self.layout.size + 1])

    def _asking(self, packed: np.ndarray, clock: np.ndarray) -> np.ndarray:
        """Passes of the fixed point, between which the controller is asked what it gives at the midpoint."""
        model, (t, dt), k = self.system.model, clock, self.layout.size
        start = self.layout.unpack(packed)[0]
        guess = Guess.first(model, start.velocity - Parabola(model, self.carried).seen(t, start.pose[:3, :3]))
        given = np.zeros(model.n)
        for _ in range(ITERATIONS):
            before = guess[-1]
            out = self.kernel(packed, self.carried, clock, guess, given)
            asked = self.system.asked(t + 0.5 * dt, self.layout.unpack(out[k + 1 : 2 * k + 1])[0])
            if before == NEVER:
                out[-1] = max(out[-1], np.abs(asked - given).max(initial=0.0))
            guess, given = out[2 * k + 1 :], asked
            if arrived(model, guess[-1], before, dt) > 0.0:
                break
        return np.asarray(out)

    def _check(self, change: float, t: float, dt: float) -> None:
        """An error where passes did not arrive; what is not a number is named by the run."""
        model = self.system.model
        if change > LOOSE * slack(model, 1e3 * dt):
            what, way = "the midpoint equations do not converge", "take a smaller one"
            if model.loops:
                what, way = f"the loops of {model.name!r} do not close", f"{way}, or 'rkmk4' where a loop is flat"
            raise NumericsError(f"{what} in a step of {dt:g} s: {way}", time=t, value=change)

    def _carry(self, t: float, state: State) -> None:
        """Center of mass, its velocity and the spin about it, at ``t``."""
        model = self.system.model
        h = np.asarray(momentum(model, state, "centroidal"), dtype=float)
        self.carried = np.concatenate([[t], center_of_mass(model, state), h[:3] / model.mass, h[3:]])


def check(system: System) -> None:
    """Refuses robots and forces that this rule is not for, by name."""
    model = system.model
    system.check_forgetful("momentum")
    for loop in model.loops:
        if not loop.internal:
            raise ModelError(
                f"loop {loop.name!r} holds more than the robot's shape, so that momentum is not kept: take 'rkmk4'"
            )
    if system.external or system.contact is not None:
        raise ModelError("the momentum-exact integrator takes joint forces only: nothing may pull on the base")
    if not isinstance(model.base, SE3):
        raise ModelError(f"the momentum-exact integrator needs a free base, not {model.base}")
    for law in system.laws:
        if pulls_on_base(model, law):
            raise ModelError(f"the momentum-exact integrator takes joint forces only: {law.name!r} pulls on the base")
    for joint in model.joints:
        if not joint.kind.group.additive:
            raise ModelError(f"joint {joint.name!r}: the momentum-exact integrator takes angles and lengths only")
