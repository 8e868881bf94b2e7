"""Stiffness and damping of a controller that is a plain function, found by asking it.

A force law says how stiff it is; a function does not.  Where it is a smooth function of time and state, differences of
its answers around a state say it: ``dF = -K dq - D dv`` for joint forces ``F``, coordinates and rates.  Implicit steps
foresee the diagonals of both, as they foresee those of laws; which method and which steps are the default follows from
the whole matrices.

A function that does not answer as linearly as small differences should says nothing: contact steps hold its forces.
One that answers the same question in two ways has noise or memory: it is sampled, once in each step.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from ...model import Model, State
from .arguments import answered

STEPS_PER_CHECK = 10
"""Steps: then one question more says whether the differences still hold."""

LATER = 1e-6
"""s: time after which a function is asked whether it remembers; far below the periods of controllers"""

JointForces = Callable[[float, State], np.ndarray]
"""Joint forces (n) at a time (s) and state"""


class Impedance(NamedTuple):
    """Stiffness and damping of joint forces: their fall with displacements and rates."""

    stiffness: np.ndarray
    """``n x n`` (N m/rad or N/m)"""
    damping: np.ndarray
    """``n x n`` (N m s/rad or N s/m)"""

    def change(self, displacement: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Change of the forces (n)."""
        return -(self.stiffness @ displacement) - self.damping @ rates

    @property
    def gains(self) -> np.ndarray:
        """``2n``: the diagonals, where they resist; what is negative of them is held, as of laws."""
        return np.maximum(np.concatenate([np.diagonal(self.stiffness), np.diagonal(self.damping)]), 0.0)


class Feedback:
    """A function as a run asks it: its :attr:`impedance` at the last look."""

    def __init__(self, model: Model, function: JointForces, impedance: Impedance) -> None:
        self.model, self.impedance, self._function, self._calls = model, impedance, function, 0

    @classmethod
    def of(cls, model: Model, function: JointForces, t: float, state: State) -> Feedback | None:
        """Feedback of a function at the start of a run; None where it is not smooth there."""
        try:
            found = _differences(model, function, t, state, function(t, state))
        except Exception:  # a function may refuse states that no run would bring it to
            return None
        return None if found is None else cls(model, function, found)

    def elsewhere(self) -> Feedback:
        """The same for another part of a run, whose first question says whether the differences hold there."""
        other = copy(self)
        other._calls = -1
        return other

    def gains(self, t: float, state: State, forces: np.ndarray) -> np.ndarray:
        """``2n``: stiffness and damping of joints in a step, where the function has given ``forces`` (n).

        At intervals the function is evaluated once more, and for each joint where it has changed.
        """
        self._calls += 1
        if self._calls % STEPS_PER_CHECK == 0:
            try:
                if not _holds(self.model, self._function, t, state, forces, self.impedance):
                    zero = np.zeros((self.model.n, self.model.n))
                    self.impedance = _differences(self.model, self._function, t, state, forces) or Impedance(zero, zero)
            except Exception:  # as above
                pass
        return self.impedance.gains


def answers_alike(model: Model, function: Callable[[float, State], Any], state: State, first: Any) -> bool:
    """True unless a function has noise or memory: asked of another time and state, and of the start again.

    Args:
        model: Robot.
        function: Controller.
        state: Start of the run.
        first: What it has answered at the start.

    Returns:
        False if its answers at the start differ in any bit.
    """
    before = np.array(first)  # of a function that fills one array again and again
    with suppress(Exception):  # a function may refuse states that no run would bring it to
        answered(function, LATER, _moved(model, state, *_small(model, state, np.ones(model.n))))
    try:
        return np.array_equal(before, np.array(answered(function, 0.0, state)))
    except Exception:  # nor does every function take a time that goes back
        return False


def _differences(model: Model, function: JointForces, t: float, state: State, forces: np.ndarray) -> Impedance | None:
    """Forward differences, if a longer step to the other side confirms them."""
    n, unit = model.n, np.eye(model.n)
    still, small = np.zeros(n), [_small(model, state, e) for e in unit]
    K = [(forces - function(t, _moved(model, state, x, still))) / x.max() for x, _ in small]
    D = [(forces - function(t, _moved(model, state, still, v))) / v.max() for _, v in small]
    found = Impedance(np.array(K).reshape(n, n).T, np.array(D).reshape(n, n).T)
    return found if _holds(model, function, t, state, forces, found) else None


def _holds(model: Model, function: JointForces, t: float, state: State, forces: np.ndarray, seen: Impedance) -> bool:
    """True if all joints, displaced the other way and three times as far, feel what was ``seen``."""
    x, v = (-3.0 * step for step in _small(model, state, np.ones(model.n)))
    measured, expected = function(t, _moved(model, state, x, v)) - forces, seen.change(x, v)
    # a smooth function leaves a tenth of the change unexplained at most
    allowed = 0.1 * np.abs(expected).max(initial=0.0) + 1e-12 * np.abs(forces).max(initial=0.0)
    return bool(np.abs(measured - expected).max(initial=0.0) <= allowed)


def _small(model: Model, state: State, along: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A displacement (rad or m) and a change of rates (n each)."""
    return 1e-6 * along, 1e-4 * (1.0 + np.abs(state.rates)) * along


def _moved(model: Model, state: State, x: np.ndarray, v: np.ndarray) -> State:
    """The state with joints displaced by ``x`` (n) and rates changed by ``v`` (n)."""
    there: Any = model.configuration.displace(state, np.concatenate([np.zeros(model.m), x])) if x.any() else state
    return state._replace(joints=there.joints, rates=state.rates + v)
