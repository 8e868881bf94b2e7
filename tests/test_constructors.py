"""Every public constructor of control, contact, gaits and integrators refuses nonsense at once, not when it is used."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat import contact as K
from fallingcat import control as C
from fallingcat import planning as G
from fallingcat import simulation as S
from fallingcat.errors import FallingCatError
from fallingcat.studies import hoppers

A, W, CAT = fc.robots.planar_arm(), fc.robots.humanoid(), fc.robots.two_cylinder_cat()
spring = hoppers.RadialSpring(1000.0, 1.0)
task = C.PositionTask("end_effector", [1.0, 0, 2.0])
soles = [K.WrenchCone(f"{s}_sole", (-0.06, 0.14), (-0.05, 0.05)) for s in ("left", "right")]
circle = G.Circle(0.3)


def right(kind, **arguments):
    return kind, arguments


RIGHT = [
    right(C.Actuators, constant=(1.0, 2.0), name="a"),
    right(
        C.BaseTask,
        goal=np.eye(4),
        velocity=np.zeros(6),
        acceleration=np.zeros(6),
        gain=1.0,
        weight=1.0,
        mask=(True,) * 6,
        ratio=1.0,
    ),
    right(C.CenterOfMassTask, goal=np.zeros(3)),
    right(C.CentroidalMomentumTask, velocity=np.zeros(6)),
    right(C.CollisionLimit, pairs=[("a", "b")], obstacles=(), margin=0.01, near=0.2, gain=10.0),
    right(C.PeriodicReference, mean=(0.0, 0.0), cosines=((1.0, 0.0),), sines=((0.0, 1.0),), count=2, duration=1.0),
    right(C.DriveLimits, name="x"),
    right(C.DryFriction, step=0.001, name="x"),
    right(C.SelfContact, pairs=(("a", "b"),), stiffness=1.0, damping=1.0, step=0.001, name="x"),
    right(hoppers.EnergyController, gain=1.0, energy=1.0, spring=spring, name="e"),
    right(
        C.ExternalLaw,
        stiffness=1.0,
        damping=1.0,
        turn_stiffness=1.0,
        turn_damping=1.0,
        position=(0.0, 0.0, 0.0),
        name="e",
    ),
    right(hoppers.ExternalPolarSpring, stiffness=1.0, damping=0.0, angle=0.0, when="stance", foot="foot", name="e"),
    right(
        C.ExternalWrench,
        link="a",
        force=(1.0, 0.0, 0.0),
        torque=(0.0, 0.0, 1.0),
        point=(0.0, 0.0, 0.0),
        start=0.0,
        end=1.0,
        name="e",
    ),
    right(C.Push, link="a", force=(1.0, 0.0, 0.0), start=0.0, duration=0.1, point=(0.0, 0.0, 0.0), name="e"),
    right(
        C.Impedance,
        goal=np.zeros(3),
        stiffness=1.0,
        damping=1.0,
        rates=np.zeros(3),
        accelerations=np.zeros(3),
        gravity=True,
        name="e",
        estimate=A,
    ),
    right(C.InternalLaw, link="foot", stiffness=1.0, damping=1.0, rest=1.0, name="e"),
    right(
        C.InverseDynamics,
        goal=np.zeros(3),
        stiffness=1.0,
        damping=1.0,
        rates=np.zeros(3),
        accelerations=np.zeros(3),
        name="e",
        estimate=A,
    ),
    right(
        C.InverseKinematics,
        model=A,
        tasks=[task],
        joint_limits=True,
        tolerance=1e-06,
        iterations=30,
        restarts=20,
        seed=0,
    ),
    right(C.JointDamper, damping=1.0, only=("a",), name="x"),
    right(C.JointLimits, gain=1.0),
    right(C.JointSpring, stiffness=1.0, rest=(1.0,), only=("a",), name="x"),
    right(C.JointStops, step=0.001, name="x"),
    right(C.JointsTask, goal=np.zeros(3), joints=("a", "b", "c")),
    right(
        hoppers.LockedPolarSpring,
        stiffness=1.0,
        damping=0.0,
        angle=0.0,
        when="stance",
        foot="foot",
        name="e",
        reference=(0.0,),
    ),
    right(
        C.OperationalSpace,
        task=task,
        force=np.zeros(3),
        pressed=(True, False, False),
        axes=((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
        posture=C.Impedance(np.zeros(3), 1.0, 1.0),
        damping=0.0,
        name="e",
        estimate=A,
    ),
    right(
        C.OutputFeedback,
        stiffness=1.0,
        damping=1.0,
        weights=(1.0,),
        target=(1.0,),
        compensation="locked",
        pose_gain=1.0,
        locked_gain=1.0,
        base_weights=(1.0,) * 6,
        pose=tuple(np.eye(4).ravel()),
        locked=(0.0,) * 6,
    ),
    right(C.PassiveDamping, name="e"),
    right(C.PassiveSprings, name="e"),
    right(
        C.PointActuator,
        first="a",
        second="b",
        force=1.0,
        first_point=(0.0, 0.0, 0.0),
        second_point=(0.0, 0.0, 0.0),
        name="x",
    ),
    right(
        C.PointSpring,
        first="a",
        second="b",
        stiffness=1.0,
        rest=0.0,
        damping=0.0,
        first_point=(0.0, 0.0, 0.0),
        second_point=(0.0, 0.0, 0.0),
        name="x",
    ),
    right(C.PointTask, link="a", goal=np.zeros(3), point=(0.0, 0.0, 0.0)),
    right(hoppers.PolarSpring, stiffness=1.0, damping=0.0, angle=0.0, when="stance", foot="foot", name="e"),
    right(C.PoseSensor, rate=10.0, latency=0.0, rotation=0.0, position=0.0, rates=0.0),
    right(C.PoseTask, link="a", goal=np.eye(4)),
    right(C.PositionTask, link="a", goal=np.zeros(3)),
    right(C.PrioritizedControl, tasks=[[task]], contacts=(), damping=0.0, name="e", estimate=A),
    right(hoppers.RadialDamper, damping=1.0, when="flight", foot="foot", name="e"),
    right(hoppers.RadialSpring, stiffness=1.0, rest=1.0, foot="foot", name="e"),
    right(C.RateLimits, fraction=1.0),
    right(C.TorqueLimits, fraction=1.0),
    right(C.RelativeTask, link="a", other="b", goal=np.eye(4)),
    right(C.RotationTask, link="a", goal=np.eye(3)),
    right(C.SampledController, controller=lambda t, s: 0, rate=1.0, latency=0.0, name="x", seed=0),
    right(C.SpeedLimit, task=task, most=1.0),
    right(C.Stance, model=W, tasks=[[C.JointsTask(W.neutral().joints)]], feet=soles, limits=(), horizon=0.02, late=0.1),
    right(C.VirtualModel, tasks=[task], stiffness=1.0, damping=1.0, force=None, contacts=(), name="x", estimate=A),
    right(
        C.WholeBody,
        model=A,
        tasks=[[task]],
        contacts=(),
        friction=0.6,
        limits=(),
        settle="forces",
        normal=(0.0, 0.0, 1.0),
        horizon=0.02,
        late=0.1,
    ),
    right(
        K.CompliantFloor,
        points=("foot",),
        stiffness=(1.0, 1.0),
        damping=(1.0, 1.0),
        friction=0.5,
        normal=(0.0, 0.0, 1.0),
        height=0.0,
        radius=0.0,
        terrain=None,
    ),
    right(
        K.HardContacts,
        points=("foot",),
        friction=0.5,
        restitution=0.0,
        rest_speed=0.001,
        frequency=50.0,
        damping=1.0,
        normal=(0.0, 0.0, 1.0),
        height=0.0,
        tolerance=1e-06,
        radius=0.0,
        stops=(),
    ),
    right(K.HeightField, heights=((0.0, 0.1), (0.0, 0.2)), spacing=(1.0, 1.0), origin=(0.0, 0.0)),
    right(K.WrenchCone, link="a", along=(-0.1, 0.1), across=(-0.1, 0.1), friction=0.6),
    right(G.Chain, parts=(G.Segment([0.0, 0.0], [1.0, 0.0]), G.Segment([1.0, 0.0], [1.0, 1.0]))),
    right(G.Circle, radius=0.3, center=(0.0, 0.0), start=0.0, turns=1.0),
    right(G.EmbeddedCurve, curve=circle, directions=np.eye(3)[:, :2], origin=np.zeros(3)),
    right(G.Fourier, mean=np.zeros(2), cosines=np.ones((1, 2)), sines=np.ones((1, 2))),
    right(G.Gait, curve=circle, duration=1.0, profile="smooth"),
    right(G.Mapper, model=CAT, frame="base"),
    right(G.Plane, directions=np.eye(3)[:, :2], origin=np.zeros(3)),
    right(G.Reconstruction, model=CAT),
    right(G.Region, directions=np.eye(2), origin=np.zeros(2), low=-np.ones(2), high=np.ones(2)),
    right(G.Segment, start=[0.0, 0.0], end=[1.0, 0.0]),
    right(G.Spline, points=np.zeros((3, 2)), slopes=np.zeros((3, 2))),
    right(S.Rosenbrock, tolerance=1e-07),
    right(S.SciPy, method="DOP853", rtol=1e-10, atol=1e-12),
    right(S.Implicit, sweeps=1),
    right(S.EventLocator, rule=S.Rosenbrock(1e-07)),
]

NEVER = {
    "object": object(),
    "complex": 1j,
    "class": dict,
    "nothing in a list": [None, None],
    "ragged": [[1.0], [1.0, 2.0]],
}
NUMBERS = {"nan": np.nan, "inf": np.inf, "text": "wrong", "array of nan": np.array([np.nan, 1.0, 2.0]), "none": {}}


def is_taken(kind, arguments):
    try:
        kind(**arguments)
    except FallingCatError:
        return False
    return True


@pytest.mark.parametrize(("kind", "arguments"), RIGHT, ids=lambda x: getattr(x, "__name__", ""))
def test_nonsense_is_refused_at_once(kind, arguments):
    assert is_taken(kind, arguments)
    for name, x in arguments.items():
        number = isinstance(x, (float, np.ndarray)) and name not in ("goal", "rates", "accelerations", "force")
        wrong = NEVER | NUMBERS if number else NEVER
        assert [what for what, x in wrong.items() if is_taken(kind, arguments | {name: x})] == [], name


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: C.Stance(W, [[C.JointsTask(W.neutral().joints)]], ["left_sole"]), "feet must be soles"),
        (lambda: C.WholeBody(A, [[task]], ["ghost"]), "there is no link or frame 'ghost'"),
        (lambda: C.WholeBody(A, [[task]], normal=3.0), "the normal of the ground is a vector of length 3"),
        (lambda: C.WholeBody(A, [[task]], friction=np.nan), "friction must be None, .* not negative"),
        (
            lambda: C.JointSpring(1.0, only="knee"),
            "only of 'joint springs' must be a row of names, or None, got 'knee'",
        ),
        (lambda: C.DryFriction(-1.0), r"step of 'dry friction' must be positive \(s\), got -1.0"),
        (lambda: C.SelfContact(pairs=["a", "b"]), "pairs are pairs of names of links, not a list"),
        (lambda: C.PositionTask(3), "link of PositionTask must be the name of a link or frame, got 3"),
        (lambda: K.WrenchCone("sole", (0.1, -0.1), (-0.1, 0.1)), r"smaller first, not \(0.1, -0.1\)"),
        (lambda: CAT.random_state(np.random.default_rng(0), -3), "a whole number, zero or above, not -3"),
        (lambda: C.Impedance(np.zeros(3), 1.0, 1.0, estimate="arm"), "estimate of 'joint impedance' must be a Model"),
    ],
)
def test_what_it_should_be_is_said(call, words):
    with pytest.raises(FallingCatError, match=words):
        call()


def test_rows_become_tuples_so_that_laws_compare_and_compile():
    law = C.JointSpring(1.0, rest=np.array([0.1, 0.2]), only=list(CAT.joint_names))
    assert law == C.JointSpring(1.0, rest=(0.1, 0.2), only=CAT.joint_names)
    assert len(fc.simulate(CAT, CAT.neutral(), 0.01, law)) > 1
