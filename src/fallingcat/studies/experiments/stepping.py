"""A humanoid steps in place, controlled with the foot that it stands on as its base: [Traversaro] 6 as a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, SupportsFloat

import numpy as np

from ...arrays import concatenate
from ...compiler import compile
from ...contact import CompliantFloor, Margins, WrenchCone
from ...control import SampledController
from ...dynamics import center_of_mass, link_pose
from ...model import Model, State
from ...simulation import Trajectory, simulate
from ...visualization import Chart, Line
from ..kind import Figures, Progress, study_kind
from ..simulated import SimulatedKind
from ..tables import Study
from .stepping_plan import (
    BEGIN,
    SIDES,
    SOLE_LENGTH,
    SOLE_WIDTH,
    Phase,
    Plan,
    SteppingParameters,
    Switch,
    base_switch,
    opposite_side,
    plan_steps,
)

FRICTION: Final = 0.8
"""friction coefficient of the ground"""
STIFFNESS, DAMPING = 2e5, 2e3
"""N/m, N s/m: of the ground at each corner: a foot turns with 2,000 N m/rad, more than the 540 with which it falls"""
FALLEN_HEIGHT: Final = 0.6
"""m: height of the pelvis, which begins at 0.8 m, below which there is nothing to hold any more"""
FEET: Final = tuple(WrenchCone(f"{side}_sole", SOLE_LENGTH, SOLE_WIDTH, FRICTION) for side in SIDES)


class SteppingResult(NamedTuple):
    """The motion, what was planned, and what the ground gave; ``N`` samples, ``K`` ticks, feet left and right."""

    run: Trajectory
    plan: Plan
    switches: tuple[Switch, ...]
    ticks: np.ndarray
    """``K`` (s)"""
    torques: np.ndarray
    """``K x 30`` (N m)"""
    wrenches: np.ndarray
    """``K x 2 x 6``: planned, the one of the base by (48); not a number for a foot in the air"""
    optimality: np.ndarray
    center: np.ndarray
    """``N x 3`` (m)"""
    places: np.ndarray
    """``N x 2 x 3`` (m): of the feet"""
    foot_wrenches: np.ndarray
    """``N x 2 x 6``: wrenches of the ground on the feet, in their frames"""

    @property
    def swings(self) -> list[tuple[Phase, np.ndarray]]:
        """Swing phases and the samples of each."""
        t, T = self.run.times, self.plan.parameters.swing
        lifted = [phase for phase in self.plan.phases if phase.is_lifted]
        return [(phase, np.flatnonzero((t > phase.begin) & (t < phase.begin + T))) for phase in lifted]

    @property
    def lifts(self) -> np.ndarray:
        """Largest height of the swing foot in each step (m); 0 if it never left the ground."""
        found = []
        for phase, i in self.swings:
            k = SIDES.index(opposite_side(phase.base))
            free = i[self.foot_wrenches[i, k, 2] == 0.0]
            found.append(self.places[free, k, 2].max(initial=0.0))
        return np.array(found)

    @property
    def base_wrenches(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Wrenches on the base foot from the first shift of weight on.

        Times (s), the wrench of the ground on the foot that is the base, and the one that was planned for it by (48).
        """
        i = np.flatnonzero(self.run.times >= BEGIN)
        t = self.run.times[i]
        base = [SIDES.index(self.plan.phase(x).base) for x in t]
        tick = np.searchsorted(self.ticks, t + 1e-9, side="right") - 1
        return t, self.foot_wrenches[i, base], self.wrenches[tick, base]

    @property
    def margins(self) -> Margins:
        """Margins of the ground's wrench on the base foot; both feet are the same rectangle."""
        return FEET[0].margins(self.base_wrenches[1])

    @property
    def desired_center(self) -> np.ndarray:
        """``N x 3``: where the center of mass should be (m)."""
        return self.plan.center.evaluate(self.run.times)[0]

    @property
    def force_distance(self) -> float:
        """Median distance of the force by (48) from the measured one, as a share of the weight."""
        _, foot_wrenches, planned = self.base_wrenches
        model = self.run.model
        gap = np.median(np.linalg.norm((foot_wrenches - planned)[:, :3], axis=1))
        return float(gap / (model.mass * np.linalg.norm(model.gravity)))


def step_quantities(model: Model, state: State, forces: Any, *, points: tuple[str, ...]) -> Any:
    """Center of mass, places of the feet, wrenches on them (21), for kernels; ``forces``: 8 x 3."""
    places = [link_pose(model, state, foot.link)[:3, 3] for foot in FEET]
    wrenches = [FEET[k].gathered(model, state, forces[4 * k : 4 * k + 4], points[4 * k : 4 * k + 4]) for k in (0, 1)]
    return concatenate([center_of_mass(model, state), *places, *wrenches])


class Stepper:
    """Controller: the law of each phase.

    Where the base changes it evaluates both laws, so that they can be compared.  Once it has fallen it is limp.
    """

    def __init__(self, model: Model, plan: Plan) -> None:
        self.model, self.plan, self.phase = model, plan, plan.phases[0]
        self.ticks: list[tuple[Any, ...]] = []
        self.switches: list[Switch] = []
        self.fallen = False

    def __call__(self, t: float, state: State) -> np.ndarray:
        """Joint torques at one tick."""
        self.fallen |= bool(state.pose[2, 3] < FALLEN_HEIGHT)
        if self.fallen:
            return np.zeros(self.model.n)
        plan, phase, before = self.plan, self.plan.phase(t), self.phase
        loop = plan.steer(t, phase)
        torques, found, self.phase = loop(t, state), loop.found, phase
        if phase.base != before.base:
            old = plan.steer(t, before)
            old(t, state)
            soles = plan.soles[before.base], plan.soles[phase.base]
            self.switches.append(base_switch(self.model, state, soles, old.found, found))
        wrenches = np.full((2, 6), np.nan)
        wrenches[[SIDES.index(side) for side in phase.feet]] = found.forces
        self.ticks.append((t, torques, wrenches, found.optimality))
        return torques


@study_kind
class SteppingInPlace(SimulatedKind[SteppingParameters, SteppingResult]):
    """The center of mass first, then the foot in the air, then a posture; wrenches of feet inside their cones."""

    name, parameters = "stepping-in-place", SteppingParameters
    measures: Mapping[str, Callable[[SteppingResult], SupportsFloat]] = {
        "steps": lambda seen: (seen.lifts > 0.0).sum(),
        "missing": lambda seen: seen.plan.parameters.steps - (seen.lifts > 0.0).sum(),
        "lift": lambda seen: seen.lifts.min(),
        "short": lambda seen: seen.plan.parameters.height - seen.lifts.min(),
        "drift": lambda seen: np.linalg.norm(seen.places[-1] - seen.places[0], axis=1).max(),
        "unbalanced": lambda seen: np.linalg.norm(seen.center - seen.desired_center, axis=1)[
            seen.run.times >= BEGIN
        ].max(),
        "outside": lambda seen: (~seen.margins.inside).mean(),
        "room": lambda seen: seen.margins.room.min(),
        "sliding": lambda seen: seen.margins.sliding.max(),
        "turning": lambda seen: seen.margins.turning.max(),
        "press": lambda seen: seen.margins.normal.min(),
        "off": lambda seen: seen.force_distance,
        "switch_torques": lambda seen: _largest(seen, "torques"),
        "switch_accelerations": lambda seen: _largest(seen, "accelerations"),
        "switch_wrenches": lambda seen: _largest(seen, "wrenches"),
        "switch_equations": lambda seen: _largest(seen, "equations"),
        "torque_share": lambda seen: np.max(np.abs(seen.torques) / [x.effort for x in seen.run.model.limits]),
        "optimality": lambda seen: seen.optimality.max(),
    }

    def run(self, parameters: SteppingParameters, progress: Progress) -> SteppingResult:
        """Simulate the steps, and evaluate center of mass, feet and wrenches."""
        progress("compiling", 0.0)
        walker, start, plan = plan_steps(parameters)
        stepper = Stepper(walker, plan)
        floor = CompliantFloor(plan.points, (STIFFNESS, STIFFNESS), (DAMPING, DAMPING), friction=FRICTION)
        progress("stepping", 0.3)
        run = simulate(
            walker, start, plan.end, SampledController(stepper, rate=parameters.rate), floor, dt=1e-3, every=5
        )
        look = compile(walker, step_quantities, inputs={"forces": (8, 3)}, state=["pose", "joints"], points=plan.points)
        seen = look(run.poses[:, :3], run.joints, run.contact_forces)
        center, places, foot_wrenches = seen[:, :3], seen[:, 3:9].reshape(-1, 2, 3), seen[:, 9:].reshape(-1, 2, 6)
        t, torques, wrenches, optimality = (np.array(column) for column in zip(*stepper.ticks, strict=True))
        switches = tuple(stepper.switches)
        return SteppingResult(run, plan, switches, t, torques, wrenches, optimality, center, places, foot_wrenches)

    def motion(self, seen: SteppingResult) -> Trajectory:
        """Trajectory of the run."""
        return seen.run

    def figures(self, study: Study, seen: SteppingResult) -> Figures:
        """The robot in motion; its center of mass, its feet, the margins of their wrenches, torques."""
        times, names = seen.run.times, seen.run.model.joint_names
        t, *wrenches = seen.base_wrenches
        base = dict(zip(("measured", "planned, (48)"), map(FEET[0].margins, wrenches), strict=True))
        legs = [[i for i, name in enumerate(names) if name.startswith(side)][:6] for side in SIDES]
        pressed = np.interp(times, seen.plan.center.times, seen.plan.center.pressure[:, 1])
        sway = [
            Line("is", seen.center[:, 1]),
            Line("should be", seen.desired_center[:, 1]),
            Line("ground pushes at", pressed),
        ]
        charts = [
            Chart("Heights of the feet", times, [Line(s, seen.places[:, k, 2]) for k, s in enumerate(SIDES)], "m"),
            Chart("Center of mass, sideways", times, sway, "m"),
            Chart(
                "Center of mass, from where it should be", times, _axes(1e3 * (seen.center - seen.desired_center)), "mm"
            ),
            Chart(
                "Normal forces of the feet",
                times,
                [Line(s, seen.foot_wrenches[:, k, 2]) for k, s in enumerate(SIDES)],
                "N",
            ),
            Chart("Normal force of the base", t, [Line(name, m.normal) for name, m in base.items()], "N"),
            Chart("Room of its center of pressure in the sole", t, [Line(n, m.room) for n, m in base.items()], "m"),
            Chart("Share of its friction used along the ground", t, [Line(n, m.sliding) for n, m in base.items()]),
            Chart("Share of its friction used for turning", t, [Line(n, m.turning) for n, m in base.items()]),
        ]
        for side, leg in zip(SIDES, legs, strict=True):
            lines = [Line(names[i].removeprefix(f"{side}_"), seen.torques[:, i]) for i in leg]
            charts.append(Chart(f"Torques of the {side} leg", seen.ticks, lines, "N m"))
        return Figures((*seen.run.animate().blocks[:1], charts[0]), charts[1:])


def _largest(seen: SteppingResult, part: str) -> float:
    """Largest value over all switches; NaN where there was none."""
    return float(max((getattr(switch, part) for switch in seen.switches), default=np.nan))


def _axes(values: np.ndarray) -> list[Line]:
    return [Line(axis, values[:, i]) for i, axis in enumerate("xyz")]
