"""Closed forms beside `sympy.physics.mechanics`: a planar base with links, all parameters symbols.

    python benchmarks/symbolic.py [--joints 2] [--simplify]

Times are processor time. Operations are SymPy's `count_ops`, of the mass matrix and of the forces that do not depend on
accelerations (Coriolis, centrifugal and gravity), each side in its own generalised speeds. `--simplify` lets SymPy
simplify Kane's matrices, which takes much longer.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import sympy
from sympy.physics import mechanics as me

import fallingcat as fc
from fallingcat.lie import SE2


def robot(joints: int) -> fc.Model:
    """A base and links with hinges; centers off the axes."""
    bodies = [fc.Body(1.0 + i, [0.1 + 0.1 * i, 0.05, 0.0], np.diag([0.1, 0.1, 0.2 + i])) for i in range(joints + 1)]
    links = tuple(fc.Link(f"link{i}", body) for i, body in enumerate(bodies))
    at = np.eye(4)
    at[0, 3] = 0.3
    hinges = (fc.Joint(f"hinge{i}", fc.joints.Revolute(), f"link{i}", f"link{i + 1}", at) for i in range(joints))
    return fc.Model("planar", SE2(), links, tuple(hinges), gravity=np.array([0.0, -9.81, 0.0]))


def described(joints: int):
    """The same robot for SymPy: coordinates, speeds (body-fixed for the base), bodies with their gravity."""
    x, y, theta, *q = me.dynamicsymbols("x y theta " + " ".join(f"q_{i + 1}" for i in range(joints)))
    u, v, w, *rates = me.dynamicsymbols("v_x v_y w " + " ".join(f"qd_{i + 1}" for i in range(joints)))
    g = sympy.Symbol("g")
    world, O = me.ReferenceFrame("N"), me.Point("O")  # noqa: E741
    frame = world.orientnew("B0", "Axis", (theta, world.z))
    O.set_vel(world, 0)
    point = O.locatenew("P0", x * world.x + y * world.y)
    frame.set_ang_vel(world, w * world.z)
    point.set_vel(world, u * frame.x + v * frame.y)
    bodies, loads = [], []
    for i in range(joints + 1):
        m, cx, cy, izz = sympy.symbols(f"m_{i} c_{i}x c_{i}y I_{i}zz")
        if i:
            length = sympy.Symbol(f"l_{i}x")
            before, hinge = frame, point.locatenew(f"P{i}", length * frame.x)
            hinge.v2pt_theory(point, world, before)
            frame = before.orientnew(f"B{i}", "Axis", (q[i - 1], before.z))
            frame.set_ang_vel(before, rates[i - 1] * before.z)
            point = hinge
        center = point.locatenew(f"C{i}", cx * frame.x + cy * frame.y)
        center.v2pt_theory(point, world, frame)
        bodies.append(me.RigidBody(f"b{i}", center, frame, m, (me.inertia(frame, 0, 0, izz), center)))
        loads.append((center, -m * g * world.y))
    c, s = sympy.cos(theta), sympy.sin(theta)
    moving = [u - (c * x.diff() + s * y.diff()), v - (c * y.diff() - s * x.diff()), w - theta.diff()]
    moving += [rate - each.diff() for rate, each in zip(rates, q, strict=True)]
    return O, world, [x, y, theta, *q], [u, v, w, *rates], moving, bodies, loads


def kane(joints: int):
    _, world, q, u, moving, bodies, loads = described(joints)
    method = me.KanesMethod(world, q_ind=q, u_ind=u, kd_eqs=moving)
    method.kanes_equations(bodies, loads)
    return method.mass_matrix, method.forcing


def lagrange(joints: int):
    """In the coordinates x, y, theta, q: the velocities are their rates."""
    origin, world, q, u, moving, bodies, loads = described(joints)
    rates = sympy.solve(moving, u)
    T = sum(body.kinetic_energy(world) for body in bodies).subs(rates)
    pairs = zip(bodies, loads, strict=True)
    U = -sum(force.dot(body.masscenter.pos_from(origin)) for body, (_, force) in pairs)
    method = me.LagrangesMethod(T - U, q, frame=world)
    method.form_lagranges_equations()
    return method.mass_matrix, method.forcing


def ours(joints: int) -> fc.symbolic.NamedExpressions:
    return fc.symbolic.derive(robot(joints)).named("M", "b")


def timed(function, *arguments):
    start = time.process_time()
    result = function(*arguments)
    return result, time.process_time() - start


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--joints", type=int, default=2)
    options.add_argument("--simplify", action="store_true")
    given = options.parse_args()
    named, seconds = timed(ours, given.joints)
    M, b = (sympy.count_ops(named.expressions[name]) for name in ("M", "b"))
    factors = sympy.count_ops(list(named.definitions.values()))
    print(f"planar base, {given.joints} joints{'':14}seconds  operations of M + forces")
    print(f"fallingcat, named factors        {seconds:9.3f}  {M} + {b}, and {factors} of the factors")
    text, more = timed(lambda: fc.symbolic.derive(robot(given.joints)).write("M", "b", format="python"))
    count = text.partition(" operations")[0].rpartition(" ")[2]
    print(f"fallingcat, function of Python   {more:9.3f}  {count} in all, steps shared")
    for name, method in (("Kane", kane), ("Lagrange", lagrange)):
        (mass, forcing), seconds = timed(method, given.joints)
        print(f"sympy.physics.mechanics, {name:8}{seconds:9.3f}  {sympy.count_ops(mass)} + {sympy.count_ops(forcing)}")
        if given.simplify and name == "Kane":
            (mass, forcing), more = timed(lambda a=mass, b=forcing: (sympy.simplify(a), sympy.simplify(b)))
            counts = f"{sympy.count_ops(mass)} + {sympy.count_ops(forcing)}"
            print(f"  simplified                     {seconds + more:9.3f}  {counts}")
    for keys, robot_name, model in (
        (None, "revolute hopper, all of A.2.1", fc.robots.revolute_hopper()),
        (("M", "Mdot", "C", "g", "T", "U", "h", "A", "F", "D_q", "D_mu"), "planar base, 3 joints", robot(3)),
    ):
        d, start = fc.symbolic.derive(model), time.process_time()
        names = keys or [name for name in d.names if name not in ("integrability",)]
        d.named(*names)
        if keys is None:
            fc.symbolic.foot(d, "foot")
        print(f"fallingcat, {robot_name:36} {time.process_time() - start:9.3f} s, {len(names)} quantities")


if __name__ == "__main__":
    main()
