"""Gradients through a simulation in JAX: which torques roll a cat by an eighth of a turn in half a second?

`fc.simulation.step` is the simulation step as one compiled function; `jax.lax.scan` repeats it, `jax.grad`
differentiates the whole run, and gradient descent with decreasing steps finds the torques. The cat is in free flight,
and steps conserve its angular momentum to rounding: only the motion of its joints turns it.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import fallingcat as fc
from fallingcat.visualization import Chart, Line, Page

DT, STEPS, KNOTS, ROUNDS = 2e-3, 250, 10, 80
LENGTH = 0.02  # N m, of a round of gradient descent
WANTED = np.pi / 4  # rad, of roll


def page() -> Page:
    cat = fc.robots.two_cylinder_cat()
    step = fc.simulation.step(cat, dt=DT, target="jax")
    q, v = cat.flatten(cat.neutral())

    def end(knots):
        torques = jnp.repeat(knots, STEPS // KNOTS, axis=0)
        return jax.lax.scan(lambda x, u: (step(*x, u), None), (q, v), torques)[0]

    def roll(knots):
        q, _ = end(knots)
        return 2.0 * jnp.arctan2(q[3], q[6])  # of the quaternion

    def cost(knots):
        return (roll(knots) - WANTED) ** 2 + 1e-4 * (knots**2).sum()

    with jax.enable_x64(True):
        slope, angles = jax.jit(jax.value_and_grad(cost)), []
        way = 2.0 * np.pi * np.arange(KNOTS) / KNOTS
        knots = jnp.asarray(0.05 * np.stack([np.sin(way), np.cos(way)], axis=1))
        turned = jax.jit(roll)
        for k in range(ROUNDS):
            _, g = slope(knots)
            knots = knots - LENGTH * (1.0 - k / ROUNDS) * g / jnp.linalg.norm(g)
            angles.append(float(turned(knots)))
        spin = np.abs(fc.momentum(cat, cat.unflatten(*map(np.asarray, end(knots))), "centroidal")[3:]).max()
    print(f"after {ROUNDS} rounds the cat rolls by {np.degrees(angles[-1]):.1f} degrees of {np.degrees(WANTED):.0f}")
    print(f"with an angular momentum of {spin:.0e} kg m^2/s")
    rounds, torques = np.arange(ROUNDS), np.asarray(knots)
    charts = (
        Chart("Roll at the end", rounds, [Line("roll", np.degrees(angles))], "degrees", x_label="round", wide=True),
        Chart("Torques", np.arange(KNOTS) * DT * STEPS / KNOTS, [Line(n, torques[:, i]) for i, n in
              enumerate(cat.joint_names)], "N m"),
    )  # fmt: skip
    return Page("Gradients through a simulation", "a cat learns to roll", blocks=charts)


if __name__ == "__main__":
    print(page().write("gradients_in_jax.html"))
