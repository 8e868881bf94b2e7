"""The revolute hopper of [Feurstein] 4.3 by hand: three point masses, world coordinates, SciPy's LSODA.

Nothing of the library is used: positions and their derivatives are written out, ``M`` and the bias come from
``sum m J' J`` and ``sum m J' dJ v``, the leg from the cosine rule.  Works are integrated beside the motion.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

L = 0.12
MASSES = ((0.835, 0.0, 0.0), (0.122, 0.5 * L, 0.0), (0.05, L, 0.5 * L))  # kg, m along the thigh, m along the shank
TOTAL = 1.007


def leg(q: float) -> tuple[float, float, float, float]:
    """``r``, ``dr/dq``, ``beta``, ``dbeta/dq``: center of mass to foot, in polar coordinates of the thigh's frame."""
    a = L - sum(m * s for m, s, _ in MASSES) / TOTAL
    b = L - sum(m * s for m, _, s in MASSES) / TOTAL
    x, y = a + b * np.cos(q), b * np.sin(q)  # foot minus center of mass
    dx, dy = -b * np.sin(q), b * np.cos(q)
    r = np.hypot(x, y)
    return r, (x * dx + y * dy) / r, np.arctan2(y, x), (x * dy - y * dx) / r**2


class PlainHopper:
    """``y = [x, y, theta, q1, rates; external work, joint work, floor work]``; one mode at a time."""

    def __init__(self, p: Any) -> None:
        p = p.model_copy(update={"r_des": leg(p.q1)[0]}) if p.r_des == "initial" else p
        self.p, self.touching, self.anchor, self.evaluations = p, False, 0.0, 0
        c, s = np.cos(p.theta), np.sin(p.theta)
        rates = [c * p.vx - s * p.vy, s * p.vx + c * p.vy, p.omega, p.q1_dot]
        self.t, self.y = 0.0, np.array([p.x, p.y, p.theta, p.q1, *rates, 0.0, 0.0, 0.0])
        self.switches: list[tuple[float, bool, np.ndarray]] = []

    def point(self, y: np.ndarray, s: float, u: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Position, Jacobian (2 x 4) and ``dJ/dt v`` of a point ``s`` along the thigh and ``u`` along the shank."""
        a, b, w, z = y[2], y[2] + y[3], y[6], y[6] + y[7]
        e, f = np.array([np.cos(a), np.sin(a)]), np.array([np.cos(b), np.sin(b)])
        ne, nf = np.array([-e[1], e[0]]), np.array([-f[1], f[0]])
        J = np.array([[1.0, 0.0, s * ne[0] + u * nf[0], u * nf[0]], [0.0, 1.0, s * ne[1] + u * nf[1], u * nf[1]]])
        return y[:2] + s * e + u * f, J, -s * w * w * e - u * z * z * f

    def energy(self, y: np.ndarray) -> tuple[float, float]:
        """Kinetic and gravitational (J)."""
        parts = [(m, *self.point(y, s, u)) for m, s, u in MASSES]
        kinetic = sum(0.5 * m * float((J @ y[4:8]) @ (J @ y[4:8])) for m, _, J, _ in parts)
        return kinetic, sum(m * self.p.g * float(at[1]) for m, at, _, _ in parts)

    def slope(self, t: float, y: np.ndarray) -> np.ndarray:
        self.evaluations += 1
        p, v = self.p, y[4:8]
        M, right, kinetic, height = np.zeros((4, 4)), np.zeros(4), 0.0, 0.0
        for m, s, u in MASSES:
            at, J, bias = self.point(y, s, u)
            M += m * J.T @ J
            right -= m * J.T @ (bias + np.array([0.0, p.g]))
            kinetic += 0.5 * m * float((J @ v) @ (J @ v))
            height += m * p.g * at[1]
        r, dr, beta, dbeta = leg(y[3])
        stretch, rate = r - p.r_des, dr * v[3]
        energy = kinetic + height + 0.5 * p.K_r * stretch**2
        pull = -p.K_r * stretch - p.K_E * (energy - p.E_des) * rate - (0.0 if self.touching else p.D_r * rate)
        control, ground = np.array([0.0, 0.0, 0.0, dr * pull]), np.zeros(4)
        if self.touching:
            alpha = (y[2] + beta + 0.5 * np.pi + np.pi) % (2.0 * np.pi) - np.pi
            control += np.array([0.0, 0.0, 1.0, dbeta]) * (
                -p.K_p * (alpha - p.alpha_des) - p.D_p * (v[2] + dbeta * v[3])
            )
            at, J, _ = self.point(y, L, L)
            w = J @ v
            push = max(-p.K_floor_y * at[1] - p.D_floor_y * w[1], 0.0)
            ground = J.T @ np.array([-p.K_floor_x * (at[0] - self.anchor) - p.D_floor_x * w[0], push])
        rates = np.linalg.solve(M, right + control + ground)
        return np.concatenate([v, rates, [control[2] * v[2], control[3] * v[3], ground @ v]])

    def run(self, duration: float, tolerance: float = 1e-9) -> PlainHopper:
        """To the time ``duration`` (s)."""

        def depth(t: float, y: np.ndarray) -> float:
            height = float(self.point(y, L, L)[0][1])
            return 1e-12 + (-height if self.touching else height)  # off zero, which SciPy's root finder would miss

        depth.terminal, depth.direction = True, -1  # type: ignore[attr-defined]
        while self.t < duration:
            out = solve_ivp(
                self.slope, (self.t, duration), self.y, "LSODA", events=depth, rtol=tolerance, atol=tolerance
            )
            self.t, self.y = float(out.t[-1]), out.y[:, -1]
            if out.status == 1:
                self.touching = not self.touching
                self.anchor = float(self.point(self.y, L, L)[0][0])
                self.switches.append((self.t, self.touching, self.y))
        return self
