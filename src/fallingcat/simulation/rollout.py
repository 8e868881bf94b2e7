"""Many short simulations at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..contact import Contact
from ..contact.capabilities import LinearizedForces, offers
from ..control import Law, Sampled
from ..errors import Interrupted, ModelError
from ..model import Model, State
from ..progress import telling
from .arguments import carry, check_target, countable, seconds, starts, whole
from .closed import check_closed
from .fleet import Fleet
from .implicit import Implicit, suits_implicit
from .integrator import Integrator, Marching
from .located import Located
from .momentum import MomentumRungeKutta, default_in_flight, momentum_method
from .moreau import Moreau, suits_moreau
from .rkmk4 import RKMK4
from .rosenbrock import Rosenbrock
from .rule import SMALL, Rule
from .sampling import common_step
from .simulate import INTEGRATORS, own_laws, system_of
from .smooth import smooth
from .stiffness import DEFAULT_STEP, SHORTEST_DEFAULT, default_step, stable_step
from .system import System
from .together import ByModes, Marched, Rollout, Together


def rollout(
    model: Model,
    states: Sequence[State] | State,
    duration: float,
    controller: Law | Sampled | Sequence[Law | Sampled] | None = None,
    contact: Contact | None = None,
    *,
    integrator: str | Integrator | None = None,
    dt: float | None = None,
    every: int | None = None,
    threads: int = 1,
    target: str = "cpu",
    dtype: str = "float64",
    passive: bool = True,
    parameters: Mapping[str, Any] | None = None,
) -> Rollout:
    """Simulate from many states at once, in steps of ``dt`` (s), with SIMD across the simulations.

    ``states`` is a list, or one state whose fields are arrays with a first axis over the simulations.  For laws (not
    for plain functions), sampled or not, or a sampled loop of :class:`~fallingcat.control.WholeBody`, which is asked
    for all robots at once; and for integrators of fixed steps, or :class:`Located`: unless ``integrator`` says
    otherwise, ``momentum`` in free flight, ``implicit`` on compliant floors, ``located`` there if laws switch with one
    or two points that touch, else ``rkmk4``, as in flights of robots with loops, or in float32.  By
    default steps are 1 ms, or shorter where springs, or what rebounds from them, need it at the first state, or the
    tolerance of ``located``, or sampled laws that look in between, or where the error of the first 250 steps, estimated
    for up to eight simulations, is more than 2 % of their motion.  What the model holds acts as in
    :func:`fallingcat.simulate`.  Contacts of rules switch at the ends of steps, so their times are right to ``dt``;
    those of ``located`` switch where they do.  Every ``every``-th step is kept, or first and last only.
    ``parameters`` are numbers of each robot, masses and friction say, as in :class:`Fleet`, for ``implicit``,
    ``moreau`` and ``located``, and in flight for ``momentum`` and rules; the default step is that of the model itself.
    ``target="cuda"`` runs these on a GPU, in float64 or, but for ``located``, float32; see
    :class:`Fleet` to step, steer and reset as you go.  Ctrl-C raises :class:`~fallingcat.errors.Interrupted`, a
    ``KeyboardInterrupt`` whose ``result`` is the rollout so far; what a controller raises goes on with such a
    ``result``.

    >>> import fallingcat as fc
    >>> cat = fc.robots.two_cylinder_cat()
    >>> many = [cat.state(rates=[0.1 * i, 0.5]) for i in range(100)]
    >>> fc.rollout(cat, many, 0.05, dt=5e-3).joints.shape
    (2, 100, 2)
    """
    check_target(target)
    duration = seconds(duration, "duration")
    dt = None if dt is None else seconds(dt, "dt")
    countable(duration, SHORTEST_DEFAULT if dt is None else dt)
    every = None if every is None else whole(every, "every")
    many = starts(model, states)
    first = many.at(0)
    check_closed(model, *many)
    own = own_laws(model, dt, passive, many.joints, controller)
    system = system_of(model, first, controller, contact, own)
    method = _method(system, integrator, first, dt, exact=dtype == "float64", alike=parameters is None)
    system = method.suited(system)
    chosen = _step(system, method, first) if dt is None else dt
    steps = max(1, round(duration / chosen))
    about = {"target": target, "dtype": dtype, "threads": threads, "passive": passive, "parameters": parameters}
    batch = _together(system, method, many, duration / steps, **about)  # type: ignore[arg-type]
    finer = batch.halvings(duration / steps, steps) if dt is None else 0
    if finer:
        steps, every = steps * 2**finer, None if every is None else every * 2**finer
        batch = _together(system, method, many, duration / steps, **about)  # type: ignore[arg-type]
    dt = duration / steps
    kept, resolves = [batch.sample(0.0)], 0.0 if method.stable else dt

    def so_far(status: str) -> Rollout:
        last = batch.sample(batch.done * duration / steps)
        samples = [*kept, last] if kept[-1][0] < last[0] else kept
        return batch.record(samples, resolves, dt)._replace(status=status)

    try:
        with telling(f"{len(many.pose)} simulations of {model.name!r}") as tell:
            while batch.done < steps:
                next_kept = steps if every is None else min(steps, every * (batch.done // every + 1))
                next_look = batch.look(batch.done * dt)
                batch.advance(batch.done * dt, dt, min(next_kept, next_look))
                if batch.done == steps or (every is not None and batch.done % every == 0):
                    kept.append(batch.sample(batch.done * duration / steps))
                if tell is not None:
                    tell(batch.done / steps)
        return batch.record(kept, resolves, dt)
    except KeyboardInterrupt:
        status = f"interrupted at t = {batch.done * dt:.6g} s"
        raise Interrupted(status, so_far(status)) from None
    except Exception as error:
        if (t := batch.done * dt) > 0.0:  # else there is nothing to lose
            carry(error, t, so_far(f"stopped after {t:.6g} s: {error!r}"))
        raise


def _step(system: System, method: Rule | Marching, first: State) -> float:
    """The step (s) where none was given."""
    suits = stable_step if method.stable else default_step
    dt = DEFAULT_STEP if method.tolerance is not None else suits(system, first)
    return dt if system.sampling is None else common_step(system.sampling.sampled, dt)


def _together(
    system: System,
    method: Rule | Marching,
    many: State,
    dt: float,
    *,
    target: str,
    dtype: str,
    threads: int,
    passive: bool,
    parameters: Mapping[str, Any] | None,
) -> Together:
    """All simulations, on the machine on which their method runs."""
    model, driven, marching = system.model, system.sampling is not None, smooth(method, system)
    if isinstance(marching, Marching):
        if driven and target != "cpu":
            raise ModelError(f"sampled laws run on the CPU, not on {target!r}: step a Fleet there, and give it forces")
        if system.sampling is not None and system.sampling.sampled.laws and parameters is not None:
            raise ModelError("sampled laws know one robot: parameters of each take laws that are not sampled")
        about = {"target": target, "dtype": dtype, "threads": threads, "integrator": marching, "passive": passive}
        about["parameters"] = parameters
        fleet = Fleet(model, many, system.laws, system.contact, dt=dt, driven=driven, **about)  # type: ignore[arg-type]
        order = None if marching.tolerance is not None else marching.order
        return Marched(fleet, system, dt, marching.lag * dt, marching.stable and marching.tolerance is None, order)
    if parameters is not None:
        raise ModelError(
            f"on contacts, parameters of each robot take 'implicit', 'moreau' or 'located', not {method.name!r}"
        )
    if target != "cpu":
        raise ModelError(
            f"on contacts, a rollout on {target!r} takes 'implicit', 'moreau' or 'located', not {method.name!r}"
        )
    if model.loops and system.prepared is not None:
        raise ModelError(f"{model.name!r} has loops beside hard contacts: simulate runs it, rollout does not")
    assert isinstance(method, Rule)
    return ByModes(system, method, many, threads, dt)


def _method(
    system: System, wanted: str | Integrator | None, first: State, dt: float | None, exact: bool, alike: bool
) -> Rule | Marching:
    """The wanted integrator, or the one that suits the system in steps of ``dt`` (s), in float64 if ``exact``, for
    robots that are ``alike`` or have parameters.
    """
    method = INTEGRATORS.get(wanted) if isinstance(wanted, str) else wanted
    step = _step(system, MomentumRungeKutta(), first) if dt is None else dt
    if wanted == MomentumRungeKutta.name:
        method = momentum_method(system, first, step)
    if wanted is None:
        flight = default_in_flight(system, first, step) if exact and not system.model.loops else None
        method = flight if flight is not None and (alike or flight.varies) else _suits(system)
    fixed = isinstance(method, (Rule, Marching)) and method.tolerance is None
    sampled = None if system.sampling is None else system.sampling.sampled
    many = system.controller is None or (sampled is not None and (sampled.laws or sampled.together))
    if not (fixed or isinstance(method, Located)) or not many:
        raise ModelError(
            "a rollout takes force laws, or a Sampled controller of many robots, such as a loop of WholeBody, "
            "and an integrator that is a rule of fixed steps, such as 'rkmk4'"
        )
    return method  # type: ignore[return-value]


def _suits(system: System) -> Rule | Marching:
    if suits_implicit(system):
        return Implicit()
    if suits_moreau(system):
        return Moreau()
    if not offers(system.contact, LinearizedForces):
        return RKMK4()
    return Located(Rosenbrock() if system.model.nv <= SMALL else RKMK4())
