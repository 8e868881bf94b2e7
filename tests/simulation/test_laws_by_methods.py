"""Every law of the library under every method, on every kind of base: it runs, or is refused in words."""

import inspect
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

import fallingcat as fc
from fallingcat import control
from fallingcat.errors import ModelError
from fallingcat.lie import SE2, SE3, Schoenflies, Trivial
from fallingcat.simulation import INTEGRATORS
from fallingcat.studies import hoppers

BASES = {"fixed": Trivial(), "planar": SE2(), "free": SE3(), "upright": Schoenflies()}
TIP = "end_effector"
PLANE = (True, False, True)
"""x and z: where the tip of an arm on a fixed base can move"""
DT, STEPS = 1e-3, 8

ARM = {
    control.JointSpring: lambda: control.JointSpring(20.0),
    control.JointDamper: lambda: control.JointDamper(0.5),
    control.PassiveSprings: control.PassiveSprings,
    control.PassiveDamping: control.PassiveDamping,
    control.DryFriction: lambda: control.DryFriction(DT),
    control.JointStops: lambda: control.JointStops(DT),
    control.DriveLimits: control.DriveLimits,
    control.Actuators: lambda: control.Actuators((1.0, -2.0, 0.5)),
    control.ExternalLaw: lambda: control.ExternalLaw(30.0, 3.0, 20.0, 2.0),
    control.InternalLaw: lambda: control.InternalLaw(TIP, 50.0, 2.0, 0.5),
    control.PointSpring: lambda: control.PointSpring("post", TIP, 40.0, 0.5, 1.0),
    control.ExternalWrench: lambda: control.ExternalWrench(TIP, (1.0, 0.0, 2.0), (0.0, 0.5, 0.0)),
    control.Push: lambda: control.Push(TIP, (5.0, 0.0, 1.0), duration=0.01),
    control.PointActuator: lambda: control.PointActuator("post", TIP, 5.0),
    control.OperationalSpace: lambda: control.OperationalSpace(
        control.PositionTask(TIP, [0.5, 0.0, 0.8], gain=5.0, mask=PLANE), damping=0.1
    ),
    control.PrioritizedControl: lambda: control.PrioritizedControl(
        [[control.PositionTask(TIP, [0.5, 0.0, 0.8], gain=5.0, mask=PLANE)], [control.JointsTask([0.1, 0.6, 0.6])]]
    ),
    control.VirtualModel: lambda: control.VirtualModel(
        [control.PositionTask(TIP, [0.5, 0.0, 0.8], mask=PLANE)], 50.0, 5.0
    ),
    control.Impedance: lambda: control.Impedance([0.1, 0.2, 0.3], [40.0, 30.0, 20.0], 2.0, gravity=True),
    control.PositionServo: lambda: control.PositionServo([40.0, 30.0, 20.0], 2.0, [0.1, 0.2, 0.3]),
    control.InverseDynamics: lambda: control.InverseDynamics(np.zeros(3), *control.gains(hertz=2.0)),
    control.OutputFeedback: lambda: control.OutputFeedback(5.0, 1.0, target=(0.1, 0.2, 0.3)),
    control.SelfContact: lambda: control.SelfContact((("post", "link3"),), 1e3, 10.0),
    control.ForceElements: lambda: control.ForceElements("gravity compensation"),
    control.TendonSprings: control.TendonSprings,
    control.TendonDamping: control.TendonDamping,
    control.TendonFriction: lambda: control.TendonFriction(DT),
    control.TendonLimits: lambda: control.TendonLimits(DT),
}
"""Laws of robots of any kind"""
LEG = {
    hoppers.RadialSpring: lambda: hoppers.RadialSpring(20.0, 0.14),
    hoppers.RadialDamper: lambda: hoppers.RadialDamper(0.2),
    hoppers.EnergyController: lambda: hoppers.EnergyController(0.1, 2.84, hoppers.RadialSpring(20.0, 0.14)),
    hoppers.PolarSpring: lambda: hoppers.PolarSpring(0.6, 0.01, -2.4, "flight"),
    hoppers.ExternalPolarSpring: lambda: hoppers.ExternalPolarSpring(0.6, 0.01, -2.4, "flight"),
    hoppers.LockedPolarSpring: lambda: hoppers.LockedPolarSpring(0.6, 0.01, -2.4, "flight"),
}
"""Laws of a hopper"""
GROUNDS = {
    "compliant": lambda: fc.contact.CompliantFloor((TIP,), (2e4, 1e4), (100.0, 100.0), 0.5),
    "hard": lambda: fc.contact.HardContacts((TIP,), friction=0.5),
}


@lru_cache
def arm(base, weight=True):
    """Three hinges with springs, dampers, friction, stops and drives of their own, on a base."""
    model = fc.robots.planar_arm(BASES[base])
    passive = fc.model.Passive(damping=0.1, friction=0.05, stiffness=0.3)
    limits = fc.model.Limits(-2.0, 2.0, 30.0, 50.0)
    drives = tuple(fc.model.Actuator(f"drive{i}", joint.name) for i, joint in enumerate(model.joints))
    joints = tuple(replace(joint, passive=passive, limits=limits) for joint in model.joints)
    ball = fc.model.shapes.Sphere(0.4)
    links = tuple(replace(link, collisions=(ball,)) for link in model.links)
    gravity = model.gravity if weight else np.zeros(3)
    forces = {"stiffness": 200.0, "damping": 5.0, "friction": 2.0, "limits": (-1.0, 0.01)}
    cord = fc.model.FixedTendon("cord", model.joint_names[:2], (0.1, -0.1), **forces)
    carried = fc.model.GravityCompensation("carried", TIP, 0.2)
    built_in = {"tendons": (cord,), "force_elements": (carried,)}
    return replace(model, links=links, joints=joints, actuators=drives, gravity=gravity, **built_in)


def start(model):
    """Moving, and bent."""
    rng = np.random.default_rng(3)
    n = model.n
    joints, rates = np.array([0.3, 0.8, 0.9])[:n] if n == 3 else [1.8], 0.5 + 0.5 * rng.random(n)
    return model.state(joints=joints, rates=rates, twist=0.2 * rng.normal(size=model.m))


def cases():
    for law in {**ARM, **LEG}:
        for base in BASES if law in ARM else ["planar"]:
            if base == "fixed" and law in (control.ExternalLaw, control.OutputFeedback):
                continue  # they are for bases that move, and say so
            marks = () if base == "planar" or law in LEG else pytest.mark.slow
            yield pytest.param(law, base, None, id=f"{law.__name__}-{base}", marks=marks)
            if law in ARM and base in ("free", "planar"):
                for ground in GROUNDS:
                    yield pytest.param(law, base, ground, id=f"{law.__name__}-{base}-{ground}", marks=pytest.mark.slow)


def run(model, law, method, ground):
    """The end of a short run, or what the method says that does not take the law."""
    contact = None if ground is None else GROUNDS[ground]()
    try:
        found = fc.simulate(model, start(model), DT * STEPS, law, contact, integrator=method, dt=DT, passive=False)
    except ModelError as error:
        return str(error)
    assert found.status.startswith("finished")
    return found.state(-1)


def test_the_matrix_has_every_law():
    known = {
        x
        for x in (*vars(control).values(), *vars(hoppers).values())
        if inspect.isclass(x) and issubclass(x, control.Law)
    }
    assert {law for law in known if not inspect.isabstract(law)} == ARM.keys() | LEG.keys()


@pytest.mark.parametrize(("law", "base", "ground"), list(cases()))
def test_a_law_runs_under_every_method_and_moves_the_robot_alike(law, base, ground):
    model = fc.robots.revolute_hopper() if law in LEG else arm(base, law is not control.OutputFeedback)
    made = {**ARM, **LEG}[law]()
    ends = {method: run(model, made, method, ground) for method in [None, *INTEGRATORS]}
    taken = {method: end for method, end in ends.items() if not isinstance(end, str)}
    for said in (end for end in ends.values() if isinstance(end, str)):
        assert any(words in said for words in ("the integrator", "the momentum-exact integrator")), said
        assert len(said) < 300
    assert None in taken
    if ground is None:
        assert {"rkmk4", "rosenbrock", "scipy", "semi_implicit"} <= taken.keys()
    reference = taken["rkmk4"]
    change = np.abs(reference.velocity - start(model).velocity).max() + DT
    for method, end in taken.items():
        rule = INTEGRATORS.get(method, INTEGRATORS["implicit"])
        share = 1.0 if rule.order == 1 else 0.05  # of what the velocity of the end, a step late, would come to
        assert np.abs(end.joints - reference.joints).max() < share * DT * change, method
