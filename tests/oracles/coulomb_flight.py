"""Free flight of joints under Coulomb friction by SciPy: events located, the law decided by trying every case."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import fallingcat as fc
from fallingcat.lie.rotations import skew
from fallingcat.model import Model, State

TIGHT = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-13}


class Flight:
    """A robot without weight under springs to zero, with dry friction in every joint; ``y = [R; q; v]``."""

    def __init__(self, model: Model, friction: np.ndarray, stiffness: float) -> None:
        self.model, self.friction, self.stiffness = model, friction, stiffness
        self.mass = fc.compile(model, fc.mass_matrix, state=State._fields)
        self.bias = fc.compile(model, fc.bias_forces, state=State._fields)

    def parts(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Attitude, joint coordinates, velocity."""
        n = self.model.n
        return y[:9].reshape(3, 3), y[9 : 9 + n], y[9 + n :]

    def _solved(self, y: np.ndarray, signs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Acceleration, and forces on the joints beside springs, where ``signs`` say how joints slide (0: held)."""
        _, q, v = self.parts(y)
        fields = np.eye(4)[:3], q, v[:6], v[6:]
        M, n = self.mass(*fields), len(q)
        free = np.concatenate([np.ones(6, bool), signs != 0.0])
        pull = -self.bias(*fields) - np.concatenate([np.zeros(6), self.stiffness * q])
        push = pull - np.concatenate([np.zeros(6), signs * self.friction])
        a = np.zeros(6 + n)
        a[free] = np.linalg.solve(M[np.ix_(free, free)], push[free])
        return a, (M @ a - pull)[6:]

    def modes(self, y: np.ndarray) -> np.ndarray:
        """The only signs that obey the law: moving joints slide on, those at rest are held or start to slide."""
        rates = self.parts(y)[2][6:]
        choices = [(np.sign(rate),) if rate else (0.0, 1.0, -1.0) for rate in rates]
        for signs in map(np.array, product(*choices)):
            a, f = self._solved(y, signs)
            at_rest = rates == 0.0
            slides, held = at_rest & (signs != 0.0), at_rest & (signs == 0.0)
            if (a[6:][slides] * signs[slides] > 0.0).all() and (abs(f[held]) <= self.friction[held]).all():
                return np.asarray(signs)
        raise AssertionError("no case obeys Coulomb's law")

    def run(self, y: np.ndarray, duration: float) -> tuple[np.ndarray, int]:
        """``y`` at the end, and how many events there were."""
        t, events = 0.0, 0
        while t < duration:
            signs = self.modes(y)
            found = solve_ivp(self._slope(signs), (t, duration), y, events=self._events(signs), **TIGHT)
            t, y = found.t[-1], found.y[:, -1].copy()
            for i in np.flatnonzero([len(times) for times in found.t_events]):
                events += 1
                if signs[i]:
                    y[-len(signs) :][i] = 0.0
        return y, events

    def _slope(self, signs: np.ndarray) -> Any:
        def slope(t: float, y: np.ndarray) -> np.ndarray:
            R, _, v = self.parts(y)
            rates = np.where(signs == 0.0, 0.0, v[6:])
            return np.concatenate([(R @ skew(v[3:6])).ravel(), rates, self._solved(y, signs)[0]])

        return slope

    def _events(self, signs: np.ndarray) -> list[Any]:
        """A sliding joint turns round, or holding one takes more than its friction."""

        def of(i: int) -> Any:
            def value(t: float, y: np.ndarray) -> float:
                if signs[i]:
                    return float(signs[i] * self.parts(y)[2][6 + i])
                return float(self.friction[i] * (1.0 + 1e-9) - abs(self._solved(y, signs)[1][i]))

            value.terminal, value.direction = True, -1.0  # type: ignore[attr-defined]
            return value

        return [of(i) for i in range(len(signs))]
