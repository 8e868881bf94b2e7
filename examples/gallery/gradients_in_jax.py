"""Gradients through a simulation in JAX: which torques roll a cat by an eighth of a turn in half a second?

A whole step is one compiled kernel; `jax.lax.scan` repeats it, `jax.grad` goes back through all of it, and gradient
descent in steps that shorten finds the torques. In free flight, so that nothing but the shape turns the cat.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import fallingcat as fc
from fallingcat.arrays import concatenate
from fallingcat.views import Chart, Line, Page

DT, STEPS, KNOTS, ROUNDS = 2e-3, 250, 10, 80
LENGTH = 0.02  # N m, of a round of gradient descent
WANTED = np.pi / 4  # rad, of roll


def step(model, q, v, torques):
    forces = concatenate([np.zeros(model.m), torques])
    v = v + DT * fc.forward_dynamics(model, model.unflatten(q, v), forces)
    return model.integrate(q, DT * v), v


def page() -> Page:
    cat = fc.robots.two_cylinder_cat()
    kernel = fc.compile(cat, step, target="jax", inputs={"q": cat.nq, "v": cat.nv, "torques": cat.n})
    q, v = cat.flatten(cat.neutral())

    def roll(knots):
        torques = jnp.repeat(knots, STEPS // KNOTS, axis=0)
        (end, _), _ = jax.lax.scan(lambda x, u: (kernel(*x, u), None), (q, v), torques)
        return 2.0 * jnp.arctan2(end[3], end[6])  # of the quaternion

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
    print(f"after {ROUNDS} rounds the cat rolls by {np.degrees(angles[-1]):.1f} degrees of {np.degrees(WANTED):.0f}")
    rounds, torques = np.arange(ROUNDS), np.asarray(knots)
    charts = (
        Chart("Roll at the end", rounds, [Line("roll", np.degrees(angles))], "degrees", x_label="round", wide=True),
        Chart("Torques", np.arange(KNOTS) * DT * STEPS / KNOTS, [Line(n, torques[:, i]) for i, n in
              enumerate(cat.joint_names)], "N m"),
    )  # fmt: skip
    return Page("Gradients through a simulation", "a cat learns to roll", blocks=charts)


if __name__ == "__main__":
    print(page().write("gradients_in_jax.html"))
