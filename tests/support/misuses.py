"""Wrong calls, each with the words that its error has to say: rows of ``(call, message, class)``."""

import inspect

import numpy as np

import fallingcat as fc
from fallingcat import contact, control, lie, studies
from fallingcat import planning as falling
from fallingcat import planning as gaits
from fallingcat.dynamics import constrained_forward_dynamics
from fallingcat.errors import FallingCatError, FileError, ModelError
from fallingcat.formulations import integrability, locked_angle, locked_frame
from fallingcat.lie import SE3, SO2, charts
from fallingcat.lie.charts import EulerZYX
from fallingcat.model.joints import Helical, Revolute, Universal
from fallingcat.planning import drop
from fallingcat.studies import hoppers

CAT, HOPPER, DOG = fc.robots.cat(), fc.robots.revolute_hopper(), fc.robots.quadruped()
STATE = CAT.random_state(np.random.default_rng(0))
Q, V = CAT.flatten(STATE)
NV, TIP, JOINT = CAT.nv, CAT.link_names[-1], CAT.joint_names[0]
ZERO = np.zeros(NV)
NONE = np.array([None] * NV, dtype=object)
BODY = fc.Body(1.0, np.zeros(3), np.eye(3))
HOP = HOPPER.state(pose=np.array([[1, 0, 0, 0], [0, 1, 0, 0.5], [0, 0, 1, 0], [0, 0, 0, 1.0]]))


def changed(**fields):
    return STATE._replace(**fields)


# every function of a robot and a state --------------------------------------------------------------------------------

FURTHER = {
    "acceleration": ZERO, "forces": ZERO, "tangent": ZERO, "link": TIP, "frame": "world",
    "jacobian": np.zeros((1, NV)), "bias": np.zeros(1), "duration": 0.01,
    "x": np.zeros(CAT.n), "y": np.zeros(CAT.m), "potential": lambda state: 0.0,
}  # fmt: skip
BAD_STATES = {
    "q": (Q, r"pass a State of 'cat', not an array of shape \(17,\): model.state\(...\), model.unflatten\(q, v\)"),
    "None": (None, "pass a State of 'cat', not None"),
    "text": ("upside down", "pass a State of 'cat', not 'upside down'"),
    "q, v": ((Q, V), "pass a State of 'cat', not a tuple"),
    "four": (list(STATE), "pass a State of 'cat', not a list"),
    "of another robot": (HOPPER.neutral(), r"(joints|twist) must have shape \(\d+,\) for 'cat', got \(\d,\)"),
    "nan": (changed(rates=STATE.rates * np.nan), "rates holds a number that is not finite, at index 0"),
    "text for joints": (changed(joints="bent"), r"joints must have shape \(10,\) for 'cat', got 'bent'"),
    "array of texts": (changed(joints=np.array(["a"] * 10)), "joints is an array of numbers of shape"),
    "array of nothing": (changed(joints=np.array([None] * 10)), "joints is an array of numbers of shape"),
    "no pose": (changed(pose=None), r"pose must have shape \(4, 4\) for 'cat', got None"),
    "3x3 pose": (changed(pose=np.eye(3)), r"pose must have shape \(4, 4\) for 'cat', got \(3, 3\)"),
    "lists": (changed(pose=np.eye(4).tolist()), "pose is an array, not a list: make states of 'cat' with model.state"),
    "ragged": (
        changed(joints=np.array([[1.0], [1.0, 2.0]], dtype=object)),
        r"joints must have shape \(10,\) for 'cat'",
    ),
    "batch": (changed(joints=np.zeros((5, 2))), r"joints must have shape \(10,\) for 'cat', got \(5, 2\)"),
}
BAD_MODELS = {
    "None": (None, "the first argument is a Model, not None"),
    "a file": ("cat.urdf", "the first argument is a Model, not 'cat.urdf': load a file"),
    "a state": (STATE, "the first argument is a Model, not a State"),
}


def of_robots():
    """Every public function ``f(model, state, ...)`` with the arguments that make it work."""
    public = {name: getattr(room, name) for room in (fc.dynamics, fc.formulations, fc.changes) for name in room.__all__}
    for name, function in sorted(public.items()):
        if not inspect.isfunction(function) or name == "simulate":
            continue
        parameters = list(inspect.signature(function).parameters.values())
        if [p.name for p in parameters[:2]] == ["model", "state"]:
            yield name, function, [FURTHER[p.name] for p in parameters[2:] if p.default is p.empty]


def wrong_robots():
    for name, function, further in of_robots():
        for what, (state, words) in BAD_STATES.items():
            yield f"{name}, {what}", (lambda f=function, s=state, x=further: f(CAT, s, *x)), words, ModelError
        for what, (model, words) in BAD_MODELS.items():
            yield f"{name} of {what}", (lambda f=function, m=model, x=further: f(m, STATE, *x)), words, ModelError


# hooks of contacts and laws -------------------------------------------------------------------------------------------

LOW = HOPPER.state(pose=np.array([[1, 0, 0, 0], [0, 1, 0, -0.01], [0, 0, 1, 0], [0, 0, 0, 1.0]]))
CONTACTS = [
    (contact.CompliantFloor(("foot",), (1e4, 1e4), (1e3, 1e3), friction=0.5), LOW),
    (contact.HardContacts(("foot",), friction=0.5), HOP),
]
LAWS = [
    control.JointSpring(1.0), control.JointDamper(1.0), hoppers.RadialSpring(1.0, 0.2), hoppers.RadialDamper(1.0),
    hoppers.EnergyController(1.0, 1.0, hoppers.RadialSpring(1.0, 0.2)), hoppers.PolarSpring(1.0),
    hoppers.LockedPolarSpring(1.0),
]  # fmt: skip
RIGHT = {
    "begin": ("model", "state"), "touching": ("mode",),
    "jump": ("model", "mode", "guard", "state", "memory", "applied"),
    **dict.fromkeys(("forces", "guards", "memory_rate", "touch"), ("model", "mode", "state", "memory", "applied")),
}  # fmt: skip
WRONG = {
    "model": [(None, "the first argument is a Model, not None"), ("hopper", "the first argument is a Model")],
    "state": [
        (None, "pass a State of"), (STATE, "must have shape .* got"), (LOW._replace(joints="bent"), "joints must have"),
        (LOW._replace(rates=np.array([None])), "rates is an array of numbers of shape"),
    ],
    "mode": [(x, "a mode is a tuple") for x in (None, "stick", (), 3, ("foot", "foot"), (None,), (np.zeros(2),))],
    "guard": [(x, "guard") for x in (None, -1, 7, "foot", 0.0, True)],
    "memory": [(x, r"memory is an array of \d numbers, not") for x in (None, 3.0, [0.0, 0.0], np.zeros(1), "home")],
    "applied": [(x, "applied is an array of 4 numbers, not") for x in (None, np.zeros(2), [0.0] * 4, np.array(["a"]))],
    "t": [(x, "the time of .* must be a number") for x in (None, "noon", [0.0], np.zeros(2))],
    "touching": [(x, "touching must be a set of names of points") for x in (None, "foot", ["foot"], {"foot": 1})],
}  # fmt: skip


def wrong_calls(what, call, right):
    """Each argument of a call that works, by name, replaced by each of its :data:`WRONG` ones."""
    call(*right.values())
    for name in right:
        for i, (wrong, words) in enumerate(WRONG[name]):
            given = (right | {name: wrong}).values()
            yield f"{what}, {name} {i}", (lambda f=call, x=given: f(*x)), words, ModelError


def wrong_hooks():
    for one, state in CONTACTS:
        mode, memory = one.begin(HOPPER, state)
        asked = {"model": HOPPER, "mode": mode, "guard": 0, "state": state, "memory": memory, "applied": np.zeros(4)}
        for hook, names in RIGHT.items():
            right = {name: asked[name] for name in names}
            yield from wrong_calls(f"{type(one).__name__}.{hook}", getattr(one, hook), right)
    for law in LAWS:
        right = {"model": HOPPER, "t": 0.0, "state": HOP, "touching": frozenset({"foot"})}
        yield from wrong_calls(f"{type(law).__name__}.forces", law.forces, right)
        yield from wrong_calls(f"{type(law).__name__}.check", law.check, {"model": HOPPER})


# everything else ------------------------------------------------------------------------------------------------------

NOT_FINITE = "not finite"
WALKER = fc.robots.humanoid()
TWO = fc.robots.two_cylinder_cat()
KERNEL = fc.compile(CAT, fc.inverse_dynamics)
SCENE = fc.model.combine({"cat": CAT})
FLOOR = contact.CompliantFloor(("foot",), (1e4, 1e4), (1e3, 1e3))
RUN = fc.simulate(CAT, STATE, 0.002, dt=0.001)
PLANE = gaits.Plane(np.eye(2), np.zeros(2))

MASKED = np.ma.masked_array(np.zeros(NV), mask=[1] + [0] * (NV - 1))
FLEET = fc.simulation.BatchSimulator(CAT, [STATE] * 3, driven=True)
NAN_FORCES = np.zeros((3, CAT.n))
NAN_FORCES[1:, 2] = np.nan
CALLS = [
    # masks, sizes and forces that no array has
    (lambda: fc.inverse_dynamics(CAT, STATE, MASKED), "acceleration is an array of numbers"),
    (lambda: KERNEL(*CAT.flatten(STATE), MASKED), "acceleration holds a mask and not real numbers"),
    (lambda: KERNEL(*CAT.flatten(STATE), np.ma.masked_array(np.zeros((2, NV)))), "acceleration holds a mask"),
    (lambda: CAT.state(rates=MASKED[: CAT.n]), "rates is an array of numbers"),
    (lambda: CAT.unflatten(CAT.flatten(STATE)[0], MASKED), "v is an array of numbers"),
    (lambda: CAT.base.exp(MASKED[:6]), "is an array of numbers"),
    (lambda: fc.Body(1.0, np.zeros(3), np.ma.masked_array(np.eye(3))), "inertia is an array of numbers"),
    (lambda: KERNEL(np.zeros((1,) * 63 + (17,)), ZERO, ZERO), "a batch has at most 60 axes, not 63"),
    (lambda: KERNEL(np.zeros((1,) * 61 + (17,)), ZERO, ZERO), "a batch has at most 60 axes, not 61"),
    (lambda: KERNEL(np.broadcast_to(np.zeros(17), (2**40, 17)), ZERO, ZERO), "larger than memory can be"),
    (lambda: KERNEL(np.zeros((2**20, 17)), np.zeros((2**20, 1, NV)), ZERO), "larger than memory can be"),
    (lambda: fc.compiler.aligned((2**62, 4)), "an array has a shape"),
    (lambda: FLEET.step(1, NAN_FORCES), "forces on robot 1 and 1 more of 3 hold a number that is not finite"),
    (lambda: fc.simulate(CAT, STATE, 0.01, control.JointSpring(1e308)), "numbers overflow", fc.NumericsError),
    # further arguments of the dynamics
    (lambda: fc.inverse_dynamics(CAT, STATE, ZERO[:3]), r"acceleration must have shape \(16,\), got \(3,\)"),
    (lambda: fc.inverse_dynamics(CAT, STATE, NONE), "acceleration is an array of numbers"),
    (lambda: fc.inverse_dynamics(CAT, STATE, "still"), r"acceleration must have shape \(16,\), got 'still'"),
    (lambda: fc.inverse_dynamics(CAT, STATE, ["a"] * NV), "acceleration is a vector of 16 numbers"),
    (lambda: fc.inverse_dynamics(CAT, STATE, np.full(NV, np.inf)), f"acceleration holds a number that is {NOT_FINITE}"),
    (lambda: fc.inverse_dynamics(CAT, STATE, ZERO, wrenches={"tale": np.zeros(6)}), "no link( or frame)? 'tale'"),
    (lambda: fc.inverse_dynamics(CAT, STATE, ZERO, wrenches={TIP: np.zeros(3)}), r"wrench on .* have shape \(6,\)"),
    (lambda: fc.inverse_dynamics(CAT, STATE, ZERO, wrenches="push"), "wrenches is a mapping from links to wrenches"),
    (lambda: fc.inverse_dynamics(CAT, STATE, ZERO, representation="moon"), "representation is one of body, .*inertial"),
    (lambda: fc.forward_dynamics(CAT, STATE, np.zeros(NV + 1)), r"forces must have shape \(16,\), got \(17,\)"),
    (lambda: fc.forward_dynamics(CAT, STATE, None), r"forces must have shape \(16,\), got None"),
    (lambda: fc.forward_dynamics(CAT, STATE, np.array(["a"] * NV)), "forces is an array of numbers"),
    (lambda: fc.forward_dynamics(CAT, STATE, ZERO, wrenches=[3]), "wrenches is a mapping"),
    (lambda: fc.coriolis_matrix(CAT, STATE, "cristoffel"), "factorization is one of .*, not 'cristoffel'"),
    (lambda: fc.equations(CAT, STATE, "lagrange"), "factorization is one of"),
    (lambda: fc.momentum(CAT, STATE, "moon"), "frame is one of"),
    (lambda: fc.formulations.is_conserved(CAT, STATE, "moon"), "there is no link( or frame)? 'moon'"),
    (lambda: fc.jacobian(CAT, STATE, "rea"), "there is no (link|frame).* 'rea'; do you mean 'rear'"),
    (lambda: fc.jacobian(CAT, STATE, 3), "there is no (link|link or frame) 3"),
    (lambda: fc.jacobian(CAT, STATE, None), "there is no (link|link or frame) None"),
    (lambda: fc.jacobian(CAT, STATE, TIP, "moon"), "representation is one of"),
    (lambda: fc.jacobian(CAT, STATE, TIP, "body", np.zeros(2)), r"point must have shape \(3,\)"),
    (lambda: fc.jacobian(WALKER, WALKER.neutral(), "left_sol"), "no link or frame 'left_sol'; do you mean 'left_sole'"),
    (lambda: fc.link_pose(WALKER, WALKER.neutral(), "left_ankle_roll"), "do you mean 'left_ankle_roll_link'"),
    (lambda: fc.link_pose(CAT, STATE, ["rear"]), "there is no link"),
    (lambda: fc.link_twist(CAT, STATE, TIP, 3), "representation is one of"),
    (lambda: fc.dynamics.link_acceleration(CAT, STATE, ZERO[:1], TIP), r"acceleration must have shape \(16,\)"),
    (lambda: fc.dynamics.analytical_jacobian(CAT, STATE, "ghost"), "there is no (link|link or frame) 'ghost'"),
    (lambda: fc.dynamics.analytical_jacobian(CAT, STATE, TIP, rotation="euler"), "charts .*, 'euler'"),
    (lambda: fc.dynamics.displace(CAT, STATE, ZERO[:2]), r"tangent must have shape \(16,\), got \(2,\)"),
    (lambda: constrained_forward_dynamics(CAT, STATE, ZERO, np.zeros((2, 3)), np.zeros(2)), r"jacobian must have"),
    (lambda: constrained_forward_dynamics(CAT, STATE, ZERO, np.zeros((2, NV)), np.zeros(3)), r"bias must have shape"),
    (lambda: constrained_forward_dynamics(CAT, STATE, ZERO, "rod", np.zeros(1)), r"jacobian must have shape"),
    (lambda: constrained_forward_dynamics(CAT, STATE, ZERO, [[1.0], [1.0, 2.0]], [0.0, 0.0]), "jacobian must have"),
    (lambda: constrained_forward_dynamics(CAT, STATE, ZERO, np.full((1, NV), np.nan), [0.0]), "not finite"),
    (lambda: fc.inverse_dynamics(CAT, STATE, [[1.0], [1.0, 2.0]]), "acceleration is a vector of 16 numbers"),
    (lambda: CAT.unflatten([[1.0], [1.0, 2.0]]), "q must have shape"),
    (lambda: CAT.state(pose=[[1.0], [1.0, 2.0]]), "pose is an array of numbers of shape"),
    (lambda: fc.jacobian(CAT, STATE, np.zeros(3)), "there is no link or frame an array of shape"),
    (lambda: fc.coriolis_matrix(CAT, STATE, np.zeros(3)), "factorization is one of"),
    (lambda: fc.formulations.is_conserved(CAT, STATE, np.zeros(3)), "frame is 'world', 'centroidal', 'base', the name"),
    (lambda: CAT.lock([["spine"]]), "there is no joint"),
    (lambda: fc.dynamics.reroot_state(CAT, STATE, "ghost"), "there is no (link|link or frame) 'ghost'"),
    (lambda: fc.curvature(CAT, STATE, ZERO, ZERO), r"x must have shape \(10,\)"),
    (lambda: integrability(CAT, STATE, tolerance=-1.0), "tolerance is a positive number, not -1.0"),
    (lambda: integrability(CAT, STATE, tolerance="small"), "tolerance is a positive number, not 'small'"),
    (lambda: fc.formulations.certify_reduced(CAT, STATE, tolerance=np.nan), "tolerance is a positive number, not nan"),
    (lambda: fc.formulations.certify_reduced(CAT, STATE, rel="rel"), "rel is what reduced_equations gives, not 'rel'"),
    (lambda: fc.equations(CAT, STATE).certify(tolerance=None), "tolerance is a positive number, not None"),
    (lambda: fc.equations(CAT, STATE).change("mixed"), "a change is a VelocityChange, such as .*, not 'mixed'"),
    (lambda: fc.equations(CAT, STATE).change(fc.changes.body(HOPPER, HOPPER.neutral())), "change"),
    (lambda: fc.changes.base_at(CAT, STATE, "ghost"), "there is no (link|link or frame) 'ghost'"),
    (lambda: fc.changes.internal_external(CAT, STATE, "ghost"), "there is no (link|link or frame) 'ghost'"),
    (lambda: fc.formulations.fixed_at(CAT, STATE, "ghost"), "there is no (link|link or frame) 'ghost'"),
    (lambda: fc.changes.decoupling(CAT, STATE, Tx=np.zeros((2, 2))), "Tx must have shape"),
    (lambda: locked_angle(HOPPER, [0.0, 1.0]), r"joints must have shape"),
    (lambda: locked_angle(HOPPER, "bent"), r"joints"),
    (lambda: locked_angle(None, [0.0]), "the first argument is a Model, not None"),
    (lambda: fc.single_body.body_inertia("SE3", np.eye(6)), "a group or algebra of .*lie, not 'SE3'"),
    (lambda: fc.single_body.body_inertia(SE3(), np.eye(3)), r"inertia must have shape"),
    (lambda: fc.single_body.body_coriolis_matrix(SE3(), np.eye(6), np.zeros(3)), r"v must have shape \(6,\)"),
    (lambda: fc.single_body.body_forces(SE3(), np.eye(6), np.zeros(6), np.zeros(2)), r"must have shape \(6,\)"),
    (lambda: fc.single_body.body_forces(SE3(), np.eye(4), np.zeros(6), np.zeros(6)), r"M must have shape \(6, 6\)"),
    (lambda: fc.single_body.coriolis_from_series(SE3(), np.zeros(2)), r"momentum must have shape \(6,\)"),
    # groups, charts, kinds of joints
    (lambda: SE3().exp(None), r"a vector of SE\(3\) must have shape \(6,\), got None"),
    (lambda: SE3().exp(np.zeros(7)), r"a vector of SE\(3\) must have shape \(6,\), got \(7,\)"),
    (lambda: SE3().exp(np.zeros((1, 6))), r"must have shape \(6,\), got \(1, 6\)"),
    (lambda: SE3().exp("twist"), r"must have shape \(6,\), got 'twist'"),
    (lambda: SE3().exp(np.array(["a"] * 6)), "a vector of .* is an array of numbers"),
    (lambda: SE3().exp(np.array([None] * 6)), "a vector of .* is an array of numbers"),
    (lambda: SE3().exp([[1.0], [1.0, 2.0]]), "a vector of .* is an array of numbers"),
    (lambda: SE3().log(np.eye(3)), r"an element of SE\(3\) must have shape \(4, 4\), got \(3, 3\)"),
    (lambda: SE3().log(np.eye(5)), r"must have shape \(4, 4\), got \(5, 5\)"),
    (lambda: SE3().Ad(np.zeros(6)), r"must have shape \(4, 4\), got \(6,\)"),
    (lambda: SE3().ad(np.eye(4)), r"must have shape \(6,\), got \(4, 4\)"),
    (lambda: SE3().adt(np.zeros(3)), r"must have shape \(6,\), got \(3,\)"),
    (lambda: SE3().compose(np.eye(4), np.eye(3)), r"an element of SE\(3\) must have shape \(4, 4\), got \(3, 3\)"),
    (lambda: SE3().compose("a", np.eye(4)), r"an element of SE\(3\) must have shape \(4, 4\), got 'a'"),
    (lambda: SE3().inverse(2.0), r"an element of SE\(3\) must have shape \(4, 4\), got 2.0"),
    (lambda: SE3().hat(np.zeros(3)), r"must have shape \(6,\), got \(3,\)"),
    (lambda: SE3().vee(np.zeros(6)), r"must have shape \(4, 4\), got \(6,\)"),
    (lambda: SE3().dexp_left(np.zeros(3)), r"must have shape \(6,\), got \(3,\)"),
    (lambda: SE3().dexp_right_inverse(None), r"must have shape \(6,\), got None"),
    (lambda: SE3().logarithm_rate(np.zeros(6), np.zeros(3)), r"must have shape \(6,\), got \(3,\)"),
    (lambda: SE3().element(np.zeros(6)), r"coordinates of SE\(3\) must have shape \(7,\), got \(6,\)"),
    (lambda: SE3().moved(np.zeros(7), np.zeros(7)), r"a vector of SE\(3\) must have shape \(6,\), got \(7,\)"),
    (lambda: SE3().interpolate(np.eye(4), np.eye(4), "half"), "s is a number from 0 to 1, not 'half'"),
    (lambda: SE3().contains(np.eye(4), "small"), "tolerance is a number that is not negative, not 'small'"),
    (lambda: SE3().contains(np.eye(4), -1.0), "tolerance is a number that is not negative, not -1.0"),
    (lambda: SE3().contains(np.eye(4), np.nan), "tolerance is a number that is not negative, not nan"),
    (lambda: fc.dynamics.base_parameters(CAT, tolerance=-1.0), "tolerance is a positive number, not -1.0"),
    (lambda: locked_angle(fc.robots.revolute_hopper(), [0.1], tolerance=np.nan), "tolerance is a positive number"),
    (lambda: locked_frame(fc.robots.revolute_hopper(), [0.1], tolerance=-1.0), "tolerance is a positive number"),
    (lambda: gaits.optimize(TWO, tolerance=-1.0), "tolerance is a positive number, not -1.0"),
    (lambda: fc.simulation.Rosenbrock(tolerance=-1.0), "tolerance is a positive number, not -1.0"),
    (lambda: fc.simulation.SciPy(rtol=np.nan), "rtol is a positive number, not nan"),
    (lambda: fc.simulation.SciPy("Euler"), "method is one of DOP853, RK45"),
    (lambda: SE3().random(0), "rng is a numpy.random.Generator, not 0"),
    (lambda: SE3().random_coordinates(None), "rng is a numpy.random.Generator, not None"),
    (lambda: SO2().random_coordinates("dice"), "rng is a numpy.random.Generator, not 'dice'"),
    (lambda: lie.Helical(pitch=0.1).random_coordinates(np.random), "rng is a numpy.random.Generator"),
    (lambda: lie.Product((SO2(), SE3())).random_coordinates(np.random.default_rng(0), -1), "zero or above, not -1"),
    (lambda: lie.R3().random_coordinates(np.random.default_rng(0), 2.0), "how many there are is a whole number"),
    (lambda: Revolute.sample(0), "rng is a numpy.random.Generator, not 0"),
    (lambda: Universal.sample(None, planar=True), "rng is a numpy.random.Generator, not None"),
    (lambda: SO2().exp(np.zeros(3)), r"a vector of SO\(2\) must have shape \(1,\), got \(3,\)"),
    (lambda: SO2().ad("w"), r"must have shape \(1,\), got 'w'"),
    (lambda: SO2((0.0, 0.0)), r"an axis must have shape \(3,\), got \(2,\)"),
    (lambda: SO2((0.0, 0.0, 0.0)), "an axis is a finite 3-vector that is not zero"),
    (lambda: lie.R1("z"), r"an axis must have shape \(3,\), got 'z'"),
    (lambda: lie.Helical(pitch=0.0), "the pitch of a screw is finite and not zero, not 0.0"),
    (lambda: lie.Helical(pitch="steep"), "the pitch of a screw is finite and not zero, not 'steep'"),
    (lambda: lie.Product((SO2(), "SO2")), "factors is a tuple of groups, not a tuple"),
    (lambda: lie.Product((SO2(), SE3())).split(np.zeros(3)), r"must have shape \(7,\), got \(3,\)"),
    (lambda: lie.skew(np.zeros(2)), r"must have shape \(3,\), got \(2,\)"),
    (lambda: EulerZYX().to_matrix(None), r"\(z, y, x\) of chart Euler ZYX must have shape \(3,\), got None"),
    (lambda: EulerZYX().to_matrix([1.0, 2.0]), r"must have shape \(3,\), got \(2,\)"),
    (lambda: EulerZYX().to_matrix(np.array(["a"] * 3)), "is an array of numbers"),
    (lambda: EulerZYX().from_matrix(np.eye(4)), r"a rotation matrix must have shape \(3, 3\), got \(4, 4\)"),
    (lambda: EulerZYX().rate_matrix(np.zeros(3), "moon"), """frame is "world" or "body", not 'moon'"""),
    (lambda: EulerZYX().singularity(np.zeros(2)), r"parameters of Euler ZYX must have shape \(3,\), got \(2,\)"),
    (lambda: charts.Spherical().from_position(np.full(3, np.nan)), "a position holds a number that is not finite"),
    (lambda: Revolute().transform(np.zeros(3)), r"coordinates of SO\(2\) must have shape \(1,\), got \(3,\)"),
    (lambda: Universal().transform(np.zeros(1)), r"must have shape \(2,\), got \(1,\)"),
    (lambda: Universal().motion_subspace_derivative(np.zeros(2), None), r"a vector of .* have shape \(2,\), got None"),
    (lambda: Helical(pitch=0.0), "the pitch of a screw is finite and not zero, not 0.0"),
    # changes of velocity, reduced equations
    (lambda: fc.changes.mixed(CAT, STATE).velocity(ZERO[:3]), r"v must have shape \(16,\), got \(3,\)"),
    (lambda: fc.changes.mixed(CAT, STATE).acceleration(ZERO, None), r"v must have shape \(16,\), got None"),
    (lambda: fc.changes.mixed(CAT, STATE).forces("push"), r"forces must have shape \(16,\), got 'push'"),
    (lambda: fc.changes.mixed(CAT, STATE).jacobian(np.zeros((6, 3))), r"J must have shape \(6, 16\), got \(6, 3\)"),
    (lambda: fc.changes.mixed(CAT, STATE).then("mixed"), "other is a VelocityChange of 16 numbers, not 'mixed'"),
    (lambda: fc.VelocityChange("T", "T", "T", "x"), "T of the change 'x' is a matrix, not 'T'"),
    (lambda: fc.VelocityChange(np.eye(3), np.eye(2), np.eye(3), "x"), r"T_dot of .* must have shape \(3, 3\)"),
    (lambda: fc.VelocityChange(np.eye(3), np.eye(3), np.eye(3), "x", claims=3), "claims are names of claims"),
    (lambda: fc.reduced_equations(CAT, STATE).forces(ZERO[:2]), r"forces must have shape \(16,\), got \(2,\)"),
    (lambda: fc.reduced_equations(CAT, STATE).in_frame(np.eye(3), np.zeros(6)), r"an element .* have shape \(4, 4\)"),
    (lambda: fc.dynamics.analytical_jacobian(CAT, STATE, TIP, position=0), "position and rotation are charts"),
    # runs and what they leave
    (lambda: fc.simulate("cat", STATE, 0.1), "the first argument is a Model, not 'cat'"),
    (lambda: fc.simulate(CAT, STATE, 0.1, events=None), "events is a list of events, not None"),
    (lambda: RUN.state(10**6), "the run has samples 0 to 2, not 1000000"),
    (lambda: RUN.state("last"), "the run has samples 0 to 2, not 'last'"),
    (lambda: RUN.at("noon"), "the run lasts from 0 to 0.002 s; 'noon' is outside"),
    (lambda: RUN.save(None), "a path is a text or a Path, not None"),
    (lambda: RUN.animate(speed=0.0), "speed is a positive number, not 0.0"),
    (lambda: RUN.animate(shapes={"ghost": ()}), "shapes is a mapping from names of links to solids"),
    (lambda: RUN.ledger.work("ghost"), "port is one of"),
    (lambda: RUN.ledger.residual(np.zeros(2), np.zeros(3)), r"energy must have shape \(3,\), got \(2,\)"),
    (lambda: fc.Trajectory.load(None, CAT), "a path is a text or a Path, not None"),
    (lambda: fc.Trajectory.load("run.npz", "cat"), "the first argument is a Model, not 'cat'"),
    (lambda: fc.Trajectory.load("run.npz", CAT, "system"), "problem is the Problem of a run"),
    # numbers that no float holds, and further arguments
    (lambda: fc.Body(10**400), "the mass of a body is a number"),
    (lambda: fc.Body(1.0, [10**400, 0, 0]), "center is an array of numbers"),
    (lambda: fc.Body(5e-324), "the mass of a body is 0 or between 1e-100 and 1e100, not 4.94e-324"),
    (lambda: fc.Body(1e-310, np.zeros(3), np.eye(3)), "the mass of a body is 0 or between"),
    (lambda: fc.Body(1.0, np.zeros(3), 1e-320 * np.eye(3)), "the inertia of a body is 0 or between 1e-100 and 1e100"),
    (lambda: fc.Body(1.0, np.zeros(3), 1e308 * np.eye(3)), "the inertia of a body is 0 or between 1e-100 and 1e100"),
    (lambda: fc.Body(1.0, [1e200, 0.0, 0.0]), "the center of a body is no further than 1e100 m"),
    (lambda: fc.simulate(CAT, STATE, 1e308), r"1e\+308 s in steps of 0.001 s are more than 9e\+15 steps"),
    (lambda: fc.simulate(CAT, STATE, 1.0, dt=1e-300), "are more than"),
    (lambda: fc.rollout(CAT, [STATE], 1e308), "are more than"),
    (lambda: RUN.measure(None), "compile takes a function of a model and a state, not None"),
    (lambda: fc.compile(CAT, np.sin), "compile takes a function of a model and a state"),
    (lambda: KERNEL(STATE), "takes 3 arguments .q, v, acceleration., not 2, where a state counts as q and v"),
    (lambda: fc.link_pose(SCENE, SCENE.neutral(), "cat/trunk"), "no link or frame 'cat/trunk'; do you mean 'cat'"),
    (lambda: RUN.at(10**400), "is outside"),
    (lambda: integrability(CAT, STATE, tolerance=10**400), "tolerance is a positive number"),
    (lambda: gaits.Chain(None), "the parts of a chain must be curves"),
    (lambda: gaits.Circle([[1.0], [1.0, 2.0]]), "radius must be a row of finite numbers"),
    (lambda: falling.bendings(CAT, []), "joints must be names of two joints or more, got an empty list"),
    (lambda: control.JointDamper(1j), "damping of 'joint dampers' must be a finite number"),
    (lambda: contact.plane(None), "the first argument is a Model, not None"),
    (lambda: contact.plane(DOG, "up"), "the normal of the ground is a vector of length 3"),
    (lambda: contact.plane(DOG, [0.0, 0.0, np.nan]), "the normal of the ground is a vector of length 3"),
    (lambda: contact.CompliantFloor(("foot",), (1.0, 1.0), (1.0, 1.0), normal=(0.0, 0.0, 0.0)), "the normal of the gr"),
    (lambda: contact.plane([]), "the first argument is a Model, not an empty list"),
    (lambda: contact.impact(HOPPER, HOP, ["foot"], normal=[0.0, 1.0]), "the normal of the ground is a vector"),
    (lambda: contact.HardContacts(("foot",), height=None), "height of hard contacts is a finite number, not None"),
    (lambda: fc.compiler.aligned("long"), "an array has a shape, a dtype and an alignment, not 'long'"),
    (lambda: contact.plane(DOG, None, "high"), "the height of the ground is a finite number, not 'high'"),
    (lambda: contact.corners(None, "foot", (0.1, 0.1)), "the first argument is a Model, not None"),
    (lambda: contact.collision_points(None), "the first argument is a Model, not None"),
    (lambda: contact.self_pairs(None), "the first argument is a Model, not None"),
    (lambda: contact.distances(None, None), "the first argument is a Model, not None"),
    (lambda: contact.stance_base(None, HOP, "foot"), "the first argument is a Model, not None"),
    (lambda: contact.center_of_pressure(None, HOP, np.zeros((1, 3)), ["foot"]), "the first argument is a Model"),
    (lambda: contact.switch(HOPPER, HOP, None, ["foot"]), "points are the names of links and frames"),
    (lambda: BODY.moved(2.0 * np.eye(4)), "is not a rigid transformation"),
    (lambda: fc.robots.random_tree(np.random.default_rng(0), "three"), "a robot has no 'three' joints"),
    (lambda: fc.robots.random_tree(np.random.default_rng(0), 3, kinds=[3]), "there is no kind of joint 3"),
    (lambda: fc.robots.random_tree(np.random.default_rng(0), 3, branching=2.0), "branching is a share from 0 to 1"),
    (lambda: control.JointSpring([1.0]), "must be one number for all of its joints, got a list: Impedance"),
    (lambda: control.JointSpring(np.zeros(2)), r"one number for all of its joints, got an array of shape \(2,\)"),
    (lambda: control.JointSpring(1.0, name=3), "name of JointSpring must be a text, got 3"),
    (lambda: hoppers.EnergyController(1.0, 1.0, "spring"), "spring of 'energy controller' is a RadialSpring"),
    (lambda: hoppers.virtual_leg(None, HOP, "foot"), "the first argument is a Model, not None"),
    (lambda: gaits.EmbeddedCurve("circle", np.eye(2), np.zeros(2)), "curve must be a Curve, got 'circle'"),
    (lambda: gaits.EmbeddedCurve(gaits.Circle(0.1), np.eye(3), np.zeros(3)), r"must have shape \(3, 2\), got \(3, 3\)"),
    (lambda: gaits.Circle(0.1)("half"), "s must be a row of finite numbers"),
    (lambda: gaits.Gait(gaits.Circle(0.1))(None), "t must be a row of finite numbers"),
    (lambda: gaits.Region(np.eye(2), np.zeros(2), "low", [1.0, 1.0]), "low of a region must be a row"),
    (lambda: gaits.Region.around("walk"), "motion must be a gait or a curve, got 'walk'"),
    (lambda: PLANE.curve(3), "curve must be a Curve, got 3"),
    (lambda: PLANE.shapes(np.zeros(3)), "r "),
    (lambda: gaits.Plane.of_joints(None, "a", "b"), "the first argument is a Model, not None"),
    (lambda: gaits.Reconstruction(TWO).connection(np.zeros((1, 5))), r"joints must have shape \(N, 2\), got \(1, 5\)"),
    (lambda: gaits.Mapper("cat"), "the first argument is a Model, not 'cat'"),
    (lambda: gaits.estimate_error(TWO, STATE, STATE), "exact must be a Displacement and guess an Estimate"),
    (lambda: falling.tracker(TWO, "walk"), "motion must be a gait or a curve, got 'walk'"),
    (lambda: falling.tracker(TWO, gaits.Gait(gaits.Circle(0.3)), frequency=-1.0), "frequency is a positive number"),
    (lambda: falling.fastest_bending([], 1.0), "found must be a list of bendings"),
    (lambda: falling.bendings("cat"), "the first argument is a Model, not 'cat'"),
    (lambda: falling.bendings(CAT, "spine"), "joints must be names of two joints or more, got 'spine'"),
    (lambda: falling.Planner(None, "a", "b"), "the first argument is a Model, not None"),
    (lambda: falling.RightingCurve(np.zeros(2), np.zeros(3), np.zeros(2), 0.1), "one number for each joint"),
    (lambda: falling.RightingCurve(np.zeros(2), np.zeros(2), np.zeros(2), "deep"), "bend must be a finite number"),
    (lambda: studies.kind_of(3), "a kind of study is given by its name, not by 3"),
    (lambda: studies.load("revolute-6").with_parameters(3), "changes is a mapping from parameters to values, not 3"),
    (lambda: fc.testing.check_joint(Revolute(), rounds=0), "rounds must be a positive integer, got 0"),
    (lambda: fc.testing.check_joint(Revolute(), seed="lucky"), "seed must be an integer that is not negative"),
    (lambda: fc.testing.check_change(fc.changes.mixed, models=["cat"]), "models must be a list of models, got 'cat'"),
    (lambda: fc.testing.check_law(control.JointSpring(1.0), "cat"), "model must be a Model, got 'cat'"),
    # states
    (lambda: CAT.state(pose=np.eye(3)), r"pose must have shape \(4, 4\), got \(3, 3\)"),
    (lambda: CAT.state(pose=2 * np.eye(4)), r"pose is no element of the base group SE\(3\)"),
    (lambda: CAT.state(pose=np.full((4, 4), np.nan)), NOT_FINITE),
    (lambda: CAT.state(pose="home"), r"pose must have shape \(4, 4\), got"),
    (lambda: CAT.state(joints=[1.0]), r"joints must have shape \(10,\), got \(1,\)"),
    (lambda: CAT.state(joints={"tail": 1.0}), "there is no joint 'tail'"),
    (lambda: CAT.state(joints={JOINT: "bent"}), f"joints of '{JOINT}' is an array of numbers"),
    (lambda: CAT.state(joints={JOINT: [1.0, 2.0]}), f"joints of '{JOINT}' must have shape"),
    (lambda: CAT.state(joints={JOINT: None}), "is an array of numbers"),
    (lambda: CAT.state(joints=["a"] * 10), "joints is an array of numbers"),
    (lambda: CAT.state(twist=[1, 2, 3]), r"twist must have shape \(6,\), got \(3,\)"),
    (lambda: CAT.state(rates=[[1, 2], [3]]), "rates"),
    (lambda: CAT.state(rates=[np.inf] * 10), NOT_FINITE),
    (lambda: CAT.unflatten(Q[:3]), r"q must have shape \(17,\) for 'cat', got \(3,\)"),
    (lambda: CAT.unflatten(Q, V[:1]), r"v must have shape \(16,\)"),
    (lambda: CAT.unflatten(0.0 * Q), "the quaternion xyzw has length 0, not 1"),
    (lambda: CAT.unflatten("q"), "q must have shape"),
    (lambda: CAT.unflatten(["a"] * 17), "q is an array of numbers"),
    (lambda: CAT.unflatten(np.array(["a"] * 17)), "q is an array of numbers"),
    (lambda: CAT.unflatten(np.array([None] * 17)), "q is an array of numbers"),
    (lambda: CAT.flatten(Q), "pass a State of 'cat'"),
    (lambda: CAT.flatten(HOPPER.neutral()), "must have shape"),
    (lambda: CAT.to_mujoco(Q), "pass a State of 'cat'"),
    (lambda: CAT.from_mujoco(Q[:2]), "q and v .MuJoCo. of 'cat' must have shapes"),
    (lambda: CAT.from_mujoco("home"), "q and v .MuJoCo. are arrays of numbers"),
    (lambda: CAT.random_state(0), "rng is a numpy.random.Generator, not 0"),
    (lambda: CAT.random_state(None), "rng is a numpy.random.Generator, not None"),
    (lambda: CAT.random(0, 3), "rng is a numpy.random.Generator, not 0"),
    (lambda: CAT.random(np.random.default_rng(0), 2.5), "a whole number, zero or above, not 2.5"),
    (lambda: CAT.random(np.random.default_rng(0), 3, -1), "a whole number, zero or above, not -1"),
    (lambda: CAT.random(np.random.default_rng(0), "many"), "a whole number, zero or above, not 'many'"),
    # models and their edits
    (lambda: CAT.link_index("rea"), "there is no link 'rea'; do you mean 'rear'"),
    (lambda: CAT.link_index("REAR"), "there is no link 'REAR'; do you mean 'rear'"),
    (lambda: CAT.joint_index("left"), "do you mean 'rear_left_leg' or 'front_left_leg'"),
    (lambda: CAT.joint_index(""), "there is no joint ''$"),
    (lambda: CAT.link_index([]), "there is no link"),
    (lambda: CAT.joint_index("ghost"), "there is no joint 'ghost'"),
    (lambda: CAT.frame("ghost"), "there is no link or frame 'ghost'"),
    (lambda: HOPPER.frame("fot"), "there is no link or frame 'fot'; do you mean 'foot'"),
    (lambda: CAT.frame(TIP, np.eye(3)), r"must have shape \(4, 4\), got \(3, 3\)"),
    (lambda: CAT.frame(TIP, 2 * np.eye(4)), "is not a rigid transformation"),
    (lambda: CAT.reroot("ghost"), "there is no (link|link or frame) 'ghost'"),
    (lambda: CAT.lock(["ghost"]), "there is no joint 'ghost'"),
    (lambda: CAT.lock({JOINT: "bent"}), "array of numbers"),
    (lambda: CAT.lock(3), "joints are names of joints, not 3"),
    (lambda: CAT.replace_body("ghost", BODY), "there is no (link|link or frame) 'ghost'"),
    (lambda: CAT.replace_body(TIP, 3.0), "the body of link '.*' is a Body, not 3.0"),
    (lambda: fc.Body(-1.0), "the mass of a body is finite and not negative"),
    (lambda: fc.Body(np.nan), "the mass of a body is finite"),
    (lambda: fc.Body("heavy"), "the mass of a body is a number, not 'heavy'"),
    (lambda: fc.Body(None), "the mass of a body is a number, not None"),
    (lambda: fc.Body(1.0, [0, 0]), r"center must have shape \(3,\)"),
    (lambda: fc.Body(1.0, np.zeros(3), np.zeros(3)), r"inertia must have shape \(3, 3\)"),
    (lambda: fc.Body(1.0, np.zeros(3), np.triu(np.ones((3, 3)))), "symmetric"),
    (lambda: fc.Body.from_points([(1.0, "here")]), "center is an array of numbers"),
    (lambda: fc.Body.from_points(3), "points are pairs of a mass and a position"),
    (lambda: BODY.moved(np.eye(3)), r"must have shape \(4, 4\), got \(3, 3\)"),
    (lambda: fc.Model("m", "SE3", (fc.Link("a", BODY),)), "the base is a group of fallingcat.lie, not 'SE3'"),
    (lambda: fc.Model("m", SE3(), ()), "a robot has at least one link"),
    (lambda: fc.Model("m", SE3(), ("a",)), "links are Link records, not 'a'"),
    (lambda: fc.Model("m", SE3(), 3), "links are Link records, not 3"),
    (lambda: fc.Model("m", SE3(), (fc.Link("a", BODY),), ("j",)), "joints are Joint records, not 'j'"),
    (lambda: fc.Model("m", SE3(), (fc.Link("a", BODY),), frames=("f",)), "frames are Frame records, not 'f'"),
    (lambda: fc.Model("m", SE3(), (fc.Link("a", BODY), fc.Link("a", BODY))), "2 links are called 'a'"),
    (lambda: fc.Model("m", SE3(), (fc.Link("a", BODY), fc.Link("b", BODY))), "the robot is in 2 pieces"),
    (lambda: fc.Model("m", SE3(), (fc.Link("a", BODY),), gravity=(0, 0)), r"gravity must have shape \(3,\)"),
    (lambda: fc.Link("a", "heavy"), "the body of link 'a' is a Body, not 'heavy'"),
    (lambda: fc.Link(3, BODY), "the name of a link is a text, not 3"),
    (lambda: fc.Model("m", SE3(), (fc.Link("", BODY),)), "a link has an empty name"),
    (lambda: fc.model.Frame("f", "a", np.eye(3)), r"must have shape \(4, 4\)"),
    (lambda: fc.model.Frame("f", "a", "here"), "is an array of numbers"),
    (lambda: fc.Joint("j", "revolute", "a", "b"), "the kind of joint 'j' is a JointKind, not 'revolute'"),
    (lambda: fc.Model("m", SE3(), (fc.Link("a", BODY),), (fc.Joint("j", Revolute(), "a", "a"),)), "cycle"),
    (lambda: fc.Joint("j", Revolute(), "a", "b", np.eye(3)), r"must have shape \(4, 4\)"),
    (lambda: fc.Joint("j", Revolute(), "a", "b", limits=(0, 1)), "the limits of joint 'j' are Limits, not a tuple"),
    (lambda: fc.model.Limits(1.0, -1.0), "lower"),
    (lambda: fc.model.Limits(lower="low"), "a joint limit is not a number: lower is 'low'"),
    (lambda: fc.model.Limits(lower=np.nan), "a joint limit is not a number: lower is nan"),
    (lambda: fc.model.Limits(velocity=-1.0), "velocity"),
    (lambda: Revolute((0.0, 0.0, 0.0)), "axis"),
    (lambda: Revolute("z"), "axis"),
    (lambda: Revolute((1.0, 2.0)), "axis"),
    (lambda: Revolute(None), "axis"),
    (lambda: Helical(pitch="steep"), "pitch"),
    (lambda: Helical(pitch=np.nan), "pitch"),
    (lambda: Universal((1.0, 0.0, 0.0), (1.0, 0.0, 0.0)), "parallel"),
    (lambda: fc.robots.free_body("SE3"), "group"),
    (lambda: fc.robots.random_tree(np.random.default_rng(0), -1), "a robot has no -1 joints"),
    (lambda: fc.robots.random_tree(0, 3), "rng is a numpy.random.Generator, not 0"),
    # files
    (lambda: fc.load("ghost.urdf"), "ghost.urdf: there is no such file", FileError),
    (lambda: fc.load("."), "this is a folder, and no robot file", FileError),
    (lambda: fc.load(3), "a path is a text or a Path, not 3"),
    (lambda: fc.load(None), "a path is a text or a Path, not None"),
    (lambda: fc.load("a\0b.urdf"), "cannot be read", FileError),
    (lambda: fc.load("cat.urdf", base="flying"), "base is a group or one of", FallingCatError),
    (lambda: fc.load("cat.urdf", base=3), "base is a group or the name of one", FallingCatError),
    (lambda: fc.load("cat.urdf", fixed="glue"), 'fixed is "merge" or "keep"', FallingCatError),
    (lambda: fc.load("cat.urdf", physics="quantum"), 'physics is "strict" or "warn"', FallingCatError),
    (lambda: fc.load("cat.urdf", root="a"), "root is the name of a body of an MJCF file", FallingCatError),
    (lambda: fc.load("cat.xml", root=3), "root is the name of a body of an MJCF file, not 3", FallingCatError),
    (lambda: fc.load("cat.urdf", inside=3), "inside is a folder, not 3", FallingCatError),
    (lambda: fc.load("cat.urdf", gravity=9.81), r"gravity must have shape \(3,\)"),
    (lambda: fc.save(CAT, "cat.sdf"), "models are written to", FileError),
    (lambda: fc.save(CAT, "/nowhere/cat.toml"), "cannot be written", FileError),
    (lambda: fc.save("cat", "cat.toml"), "the first argument is a Model, not 'cat'"),
    (lambda: fc.save(CAT, None), "a path is a text or a Path, not None"),
    # kernels
    (lambda: fc.compile("cat", fc.mass_matrix), "the first argument is a Model, not 'cat'"),
    (lambda: fc.compile(CAT, "mass_matrix"), "a function of a model and a state, not 'mass_matrix'"),
    (lambda: fc.compile(CAT, None), "a function of a model and a state, not None"),
    (lambda: fc.compile(CAT, fc.mass_matrix, target="moon"), "target is one of"),
    (lambda: fc.compile(CAT, fc.mass_matrix, target=3), "target is one of"),
    (lambda: fc.compile(CAT, fc.mass_matrix, dtype="float16"), "dtype is one of"),
    (lambda: fc.compile(CAT, fc.mass_matrix, dtype=None), "dtype is one of"),
    (lambda: fc.compile(CAT, fc.mass_matrix, inputs=3), "inputs"),
    (lambda: fc.compile(CAT, fc.mass_matrix, factorisation="passive"), "factorisation"),
    (lambda: fc.compile(CAT, fc.coriolis_matrix, factorization="ghost"), "factorization is one of"),
    (lambda: fc.compile(CAT, lambda model, state, u: u), "cannot tell the shape of the argument 'u'"),
    (lambda: fc.compile(CAT, lambda model, state, u: u, inputs={"u": -1}), "shape of the input 'u'"),
    (lambda: fc.compile(CAT, lambda model, state, u: u, inputs={"u": "two"}), "the input 'u' is whole numbers"),
    (lambda: fc.compile(CAT, lambda model, state, u: u, inputs={"u": (3, True)}), "shape of the input 'u'"),
    (lambda: fc.compile(CAT, lambda model, state, u: u, inputs={"u": (3, -4)}), "shape of the input 'u'"),
    (lambda: fc.compile(CAT, lambda model, state, u: u, inputs={"u": None}), "shape of the input 'u'"),
    (lambda: fc.compile(CAT, lambda model, state, u: u, inputs={"w": 3, "u": 3}), "has no argument 'w'"),
    (lambda: fc.compile(CAT, lambda model, state, **more: more["u"], inputs={"u": 3}), "has no argument 'u'"),
    (lambda: fc.compile(CAT, lambda model, state, u: u, inputs={"u": 3}, u=2.0), "'u' is an input, so it cannot be"),
    (lambda: fc.compile(CAT, max), "max does not say what it takes"),
    (lambda: fc.compile(CAT, fc.mass_matrix, state="joints"), "pose, joints, twist, rates.*, each once, not 'joints'"),
    (lambda: fc.compile(CAT, fc.mass_matrix, state=["q"]), "state names fields of a state"),
    (lambda: fc.compile(CAT, fc.mass_matrix, state=["joints", "joints"]), "each once"),
    (lambda: fc.compile(CAT, fc.mass_matrix, state=3), "state names fields of a state"),
    (lambda: fc.compile(CAT, lambda model, u: u, inputs={"u": 3}, state=["joints"]), "takes no state"),
    (lambda: KERNEL(), "inverse_dynamics takes 3 arguments"),
    (lambda: KERNEL(Q), "inverse_dynamics takes 3 arguments .*, not 1"),
    (lambda: KERNEL(STATE), "inverse_dynamics takes 3 arguments .*, not 2"),
    (lambda: KERNEL(Q, V, V, V), "inverse_dynamics takes 3 arguments .*, not 4"),
    (lambda: KERNEL(V, Q, V), r"q must have shape \(..., 17\), got \(16,\)"),
    (lambda: KERNEL(Q, V, 3.0), r"must have shape \(..., 16\), got \(\)"),
    (lambda: KERNEL(Q, V, "still"), "and not real numbers"),
    (lambda: KERNEL(Q, V, None), "and not real numbers"),
    (lambda: KERNEL(Q, V, NONE), "and not real numbers"),
    (lambda: KERNEL(Q, V, V + 1j), "and not real numbers"),
    (lambda: KERNEL(Q, V, np.array(["a"] * NV)), "and not real numbers"),
    (lambda: KERNEL(Q, V, [[1.0], [1.0, 2.0]]), "rows differ in length"),
    (lambda: KERNEL(np.zeros((2, 17)), np.zeros((3, 16)), V), "do not fit together"),
    (lambda: KERNEL(Q, V, V, threads=0), "threads is a whole number above zero"),
    (lambda: KERNEL(Q, V, V, threads="two"), "threads is a whole number above zero"),
    (lambda: KERNEL.blocks(Q, V, V), "contiguous"),
    (lambda: KERNEL.blocks("q", "v", "a"), "contiguous"),
    (lambda: KERNEL.blocks(), "takes 3 arguments"),
    # many runs
    (lambda: fc.rollout(CAT, [], 0.1), "there is no state to start from"),
    (lambda: fc.rollout(CAT, STATE, 0.1), r"many runs start from a list of states, \[state\] for one"),
    (lambda: fc.rollout(CAT, [Q], 0.1), "starts from a state"),
    (lambda: fc.rollout(CAT, "states", 0.1), "states"),
    (lambda: fc.rollout(CAT, None, 0.1), "states"),
    (lambda: fc.rollout(CAT, [HOPPER.neutral()], 0.1), "must have shape"),
    (lambda: fc.rollout(CAT, [STATE], -1.0), "duration"),
    (lambda: fc.rollout(CAT, [STATE], "long"), "duration"),
    (lambda: fc.rollout(CAT, [STATE], np.nan), "duration"),
    (lambda: fc.rollout(CAT, [STATE], 0.1, dt=0.0), "dt"),
    (lambda: fc.rollout(CAT, [STATE], 0.1, dt="short"), "dt"),
    (lambda: fc.rollout(CAT, [STATE], 0.1, every=0), "every"),
    (lambda: fc.rollout(CAT, [STATE], 0.1, integrator="magic"), "integrator"),
    (lambda: fc.rollout(CAT, [STATE], 0.1, laws=3), "law"),
    (lambda: fc.rollout(CAT, [STATE], 0.1, contact="floor"), "contact"),
    (lambda: fc.rollout(CAT, [STATE], 0.1, threads=0), "threads"),
    (lambda: fc.rollout("cat", [STATE], 0.1), "the first argument is a Model, not 'cat'"),
    # contacts
    (lambda: contact.CompliantFloor("foot", (1.0, 1.0), (1.0, 1.0)), "points"),
    (lambda: contact.CompliantFloor(("foot",), (-1.0, 1.0), (1.0, 1.0)), "stiffness"),
    (lambda: contact.CompliantFloor(("foot",), 1.0, (1.0, 1.0)), r"stiffness.*\(normal, tangential\), not 1"),
    (lambda: contact.CompliantFloor(("foot",), ("a", "b"), (1.0, 1.0)), "stiffness"),
    (lambda: contact.CompliantFloor(("foot",), (1.0, 1.0), (1.0, np.nan)), "damping of a floor is two"),
    (lambda: contact.CompliantFloor(("foot",), (1.0, 1.0), (1.0, 1.0), friction=-1.0), "friction of a floor .* -1"),
    (lambda: contact.CompliantFloor(("foot",), (1.0, 1.0), (1.0, 1.0), height="low"), "height of a floor is"),
    (lambda: contact.HardContacts(("foot",), normal=(0.0, 0.0, 0.0)).begin(HOPPER, HOP), "the normal of the ground"),
    (lambda: contact.HardContacts("foot"), "points are the names of links and frames"),
    (lambda: contact.HardContacts(("foot",), restitution=2.0), "restitution"),
    (lambda: contact.HardContacts(("foot",), friction="rough"), "friction"),
    (lambda: contact.HardContacts(("foot",), rest_speed=-1.0), "rest_speed of hard contacts is .* not negative"),
    (lambda: contact.HardContacts(("foot",), friction=np.nan), "friction of hard contacts is a finite number"),
    (lambda: contact.HardContacts(("foot",), height="low"), "height of hard contacts is a finite number"),
    (lambda: contact.HardContacts(("foot",), height=None), "height of hard contacts is a finite number, not None"),
    (lambda: contact.HardContacts(("foot",), normal="up").begin(HOPPER, HOP), "the normal of the ground"),
    (lambda: contact.HardContacts(stops=True), "fc.contact.joint_stops"),
    (lambda: contact.HardContacts(stops=(contact.Stop("hip", "lower", np.nan),)), "a finite limit"),
    (lambda: contact.HardContacts(stops=(contact.Stop("hip", "middle", 0.0),)), "has an end"),
    (lambda: contact.HardContacts((1,), stops=(contact.Stop("hip", "lower", 0.0),)), "at least one link or frame"),
    (lambda: contact.joint_stops(HOPPER, restitution=1.5), "restitution is a number from 0 to 1"),
    (lambda: contact.joint_stops(None), "Model"),
    (lambda: contact.HardContacts((1,)), "at least one link or frame"),
    (lambda: contact.CompliantFloor(("foot",), (1.0, 1.0), (1.0, 1.0), friction=np.nan), "friction"),
    (lambda: contact.corners(DOG, DOG.link_names[-1], (-0.1, 0.1)), "outline"),
    (lambda: contact.impact(HOPPER, HOP, ["hand"]), "there is no link or frame 'hand'"),
    (lambda: contact.impact(HOPPER, "fall", ["foot"]), "pass a State"),
    (lambda: contact.impact(HOPPER, HOP, 3), "point"),
    (lambda: contact.impact(HOPPER, HOP, ["foot"], restitution=-0.5), "restitution"),
    (lambda: contact.impact(HOPPER, HOP, ["foot"], friction=np.nan), "friction"),
    (lambda: contact.contact_forces(HOPPER, HOP, np.zeros(2), ["foot"]), "forces must have shape"),
    (lambda: contact.contact_forces(HOPPER, HOP, np.zeros(4), ["hand"]), "there is no link or frame 'hand'"),
    (lambda: contact.center_of_pressure(HOPPER, HOP, "forces", ["foot"]), "forces"),
    (lambda: contact.corners(DOG, "ghost", (0.1, 0.1)), "there is no link"),
    (lambda: contact.corners(DOG, DOG.link_names[-1], (np.nan, 0.1)), "outline"),
    (lambda: contact.corners(DOG, DOG.link_names[-1], "square"), "the outline of a foot is a list of points"),
    (lambda: contact.collision_points(DOG, "trunk"), "links are names of links"),
    (lambda: contact.collision_points(DOG, [None]), "there is no link None"),
    (lambda: contact.feet(None), "the first argument is a Model, not None"),
    (lambda: contact.distances(DOG, DOG.neutral(), [("ghost", "trunk")]), "no link of .quadruped. with collision"),
    (lambda: contact.distances(DOG, "state"), "state"),
    (lambda: contact.HeightField(None, 0.1), "heights are rows of finite numbers"),
    (lambda: contact.HeightField([0.0, 1.0], "wide"), "the spacing of heights"),
    (lambda: contact.HeightField([0.0, 1.0], 0.1, 3.0), "the origin of heights"),
    (lambda: contact.CompliantFloor(("foot",), (1.0, 1.0), (1.0, 1.0), radius="wide"), "radius is not negative"),
    (lambda: contact.CompliantFloor(("foot",), (1.0, 1.0), (1.0, 1.0), terrain=[0.0, 1.0]), "terrain is a Terrain"),
    (lambda: contact.HardContacts(("foot",), radius=-1.0), "radius is not negative"),
    (lambda: fc.testing.check_terrain("hills", 1.0), "terrain must be a Terrain, got 'hills'"),
    (lambda: fc.testing.check_terrain(contact.HeightField([0.0, 1.0], 0.1), -1.0), "size"),
    (lambda: fc.testing.check_terrain(contact.HeightField([0.0, 1.0], 0.1), 1.0, radius=np.nan), "must be a number"),
    (lambda: contact.stance_base(HOPPER, HOP, "hand"), "there is no link or frame 'hand'"),
    (lambda: contact.switch(HOPPER, HOP, ["foot"], ["hand"]), "there is no link or frame 'hand'"),
    # laws
    (lambda: fc.simulate(HOPPER, HOP, 0.1, control.JointSpring), "JointSpring is a class of laws"),
    (lambda: fc.rollout(HOPPER, [HOP], 0.1, [control.JointSpring]), "JointSpring is a class of laws: give one of it"),
    (lambda: control.velocities(CAT, STATE, [control.PoseTask(TIP)]), r"\[\[task, ...\], ...\], got \[task, ...\]"),
    (lambda: control.inverse_kinematics(CAT, []), "at least one task.*, got an empty list"),
    (lambda: control.JointSpring(np.inf), "stiffness of 'joint springs' must be a finite number, got inf"),
    (lambda: control.JointSpring("stiff"), "stiffness"),
    (lambda: control.JointDamper(np.nan), "damping"),
    (lambda: hoppers.RadialSpring(None, 0.2), "stiffness"),
    (lambda: hoppers.RadialSpring(1.0, "long"), "rest"),
    (lambda: hoppers.PolarSpring(1.0, when="sometimes").forces(HOPPER, 0.0, HOP, frozenset()), "a law acts 'always'"),
    (lambda: hoppers.virtual_leg(HOPPER, HOP, "hand"), "there is no link or frame 'hand'"),
    (lambda: hoppers.virtual_leg(HOPPER, Q, "foot"), "pass a State"),
    # gaits
    (lambda: gaits.Circle([1.0, 2.0, 3.0]), "radius must be one number or two, got 3"),
    (lambda: gaits.Circle("wide"), "radius"),
    (lambda: gaits.Circle(np.nan), "radius"),
    (lambda: gaits.Segment([0.0], [1.0, 2.0]), "start|end|segment"),
    (lambda: gaits.Segment("a", "b"), "start|end|segment"),
    (lambda: gaits.Chain(()), "part|curve"),
    (lambda: gaits.Chain((3,)), "part|curve"),
    (lambda: gaits.polygon([]), "vertices|vertex|corner"),
    (lambda: gaits.polygon("square"), "vertices|vertex|corner"),
    (lambda: gaits.Gait(3), "curve"),
    (lambda: gaits.Gait(gaits.Circle(0.1), duration=-1.0), "duration"),
    (lambda: gaits.Gait(gaits.Circle(0.1), profile="jumpy"), "profile"),
    (lambda: gaits.Plane(np.eye(3), np.zeros(2)), "directions|origin|plane"),
    (lambda: gaits.displacement(CAT, 3), "curve|gait|motion"),
    (lambda: gaits.displacement(TWO, gaits.Circle(0.1), tolerance=-1.0), "tolerance"),
    (lambda: gaits.displacement(TWO, gaits.Circle(0.1), frame="moon"), "frame"),
    (lambda: gaits.displacement(CAT, gaits.Segment([0.0], [1.0])), "the gait has 1 coordinates, but 'cat' has 10"),
    (lambda: gaits.displacement("cat", gaits.Circle(0.1)), "the first argument is a Model, not 'cat'"),
    (lambda: gaits.estimate(CAT, "walk"), "curve|gait|motion"),
    (lambda: gaits.curvature_map(TWO, "plane", [0.0], [0.0]), "plane"),
    (lambda: gaits.curvature_map(TWO, PLANE, [], []), "first|points|empty"),
    (lambda: gaits.curvature_map(TWO, PLANE, ["a"], [0.0]), "first|numbers"),
    (lambda: gaits.minimum_perturbation(CAT, "region"), "region"),
    (lambda: gaits.carried_bend(np.nan), "bend"),
    (lambda: gaits.carried_bend("deep"), "bend"),
    (lambda: gaits.optimize(CAT, "luck"), "maximize must be one of"),
    (lambda: gaits.optimize(CAT, "turn", ["ghost"]), "there is no joint 'ghost'"),
    (lambda: drop(-1.0), "height"),
    (lambda: drop("high"), "height"),
    (lambda: drop(1.5, model=HOPPER), "base|joints|cat"),
    # studies
    (lambda: studies.load("ghost"), "there is no study 'ghost'"),
    (lambda: studies.load("revolute6"), "do you mean 'revolute-6'"),
    (lambda: studies.load(6), "a study is given by its name or its file, not by 6"),
    (lambda: studies.load("ghost.toml"), "there is no such file", FileError),
    (lambda: studies.run("revolute-6", K_e=1.0), "do you mean 'K_E'", FallingCatError),
    (lambda: studies.run("revolute-6", duration=-1.0), "duration", FallingCatError),
    (lambda: studies.run("revolute-6", duration="long"), "duration", FallingCatError),
    (lambda: studies.run("revolute-6", K_r=np.nan), "K_r", FallingCatError),
    (lambda: studies.run(None), "a study is given by its name or its file, not by None"),
    (lambda: studies.run_study("revolute-6"), "a study that was loaded, not 'revolute-6'"),
    (lambda: studies.parse(3, "a", "a.toml"), "text"),
]  # fmt: skip


def named():
    """The hand-made rows, each under the text of its call."""
    for i, (call, words, *kind) in enumerate(CALLS):
        yield f"{i}", call, words, (kind or [ModelError])[0]


ROWS = [*wrong_robots(), *wrong_hooks(), *named()]
