"""Batch of robots whose arrays stay on the device: one launch a call, restarts from a bank, no check by the host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...arrays import concatenate, less, where
from ...contact import Contact
from ...contact.capabilities import LinearizedForces, offers
from ...control import Law
from ...errors import ModelError
from ...geometry.contact_points import point_motions
from ...model import Model, State
from ..integrators.base import Integrator
from ..integrators.implicit.integrator import Implicit
from ..problem.arguments import whole
from ..problem.robot_parameters import edited
from ..problem.vector_field import Layout
from .batch_simulator import BatchSimulator


class ResidentBatch:
    """``N`` robots for loops that must not wait for the host, such as those of learning.

    Robots are kept where they are stepped, in arrays of NumPy or, on a GPU, of CuPy.  :meth:`step` is one launch;
    inputs are not checked, and steps in which joints turn far are not taken again in smaller ones, as
    :class:`.BatchSimulator` does.  A robot that breaks has numbers that are not finite; :meth:`restart` starts it anew,
    from a bank of starts and parameters on the device.

    Args:
        model: Robot.
        robots: Number of robots ``N``.
        bank: ``K`` states from which they start, with a first axis.
        laws: Force laws, with inputs such as the ``targets`` of :class:`~fallingcat.control.PositionServo`.
        contact: Ground; None: nothing is touched.
        dt: Step (s).
        target: ``cpu`` or ``cuda``.
        dtype: ``float64``, or ``float32`` on a GPU.
        threads: Threads of the CPU.
        parameters: Other numbers of the ``K`` robots of the bank, by name, as in :class:`.BatchSimulator`.
        integrator: Integrator; None: :class:`.Implicit` in one sweep, which is one kernel on a GPU.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> bank = fc.State(*(np.stack([x, x]) for x in arm.state(joints=[0.1, 0.2, 0.3])))
        >>> batch = ResidentBatch(arm, 4, bank, [fc.control.PositionServo(kp=10.0)])
        >>> batch.step(10, targets=np.zeros((4, 3)))
        >>> batch.restart(np.array([True, False, False, False]), np.zeros(4, dtype=int))
        >>> batch.part("joints")[0].round(3), batch.times.round(3)
        (array([0.1, 0.2, 0.3]), array([0.  , 0.01, 0.01, 0.01]))
    """

    def __init__(
        self,
        model: Model,
        robots: int,
        bank: State,
        laws: Law | Sequence[Law] | None = None,
        contact: Contact | None = None,
        *,
        dt: float = 1e-3,
        target: str = "cpu",
        dtype: str = "float64",
        threads: int = 1,
        parameters: Mapping[str, Any] | None = None,
        integrator: Integrator | None = None,
    ) -> None:
        count, starts = whole(robots, "robots"), len(bank.pose)
        if not starts:
            raise ModelError("a bank of starts must hold at least one state")
        self.simulator = BatchSimulator(
            model, bank, laws, contact, dt=dt, target=target, dtype=dtype, threads=threads,
            integrator=integrator or Implicit(sweeps=1), parameters=parameters,
        )  # fmt: skip
        self.robots, self.starts, self.dt = count, starts, self.simulator.dt
        problem, layout, given = self.simulator.problem, self.simulator.layout, self.simulator.parameters
        self._bank = self.simulator._x
        self.simulator.keep(np.arange(count) % starts)
        self._on = self.simulator._on
        self._clock = self._on.shared(np.full(self.simulator.stepper.clock, self.dt), count)
        self._own = self._on.rows(self._on.own_numbers(count))
        self._laws = self._own.shape[1] - given.numbers.shape[1]
        self._parameters = self._on.sent(given.numbers)
        self._own_parameters = self._on.rows(self._own[:, self._laws :])
        self._no_forces = self._on.sent(np.zeros((count, 0)))
        self._places = _places(layout, self.simulator.stepper.head)
        contact = problem.contact
        self.points: tuple[str, ...] = () if contact is None else contact.points
        self._sensed = self._on.function(
            sensed, {"x": self._bank_rows.shape[1], "numbers": self._own.shape[1]}, contact=contact, layout=layout,
            head=self.simulator.stepper.head, laws=self._laws, varied=problem.varied,
        ) if self.points else None  # fmt: skip
        self._bank_points = self._points(self._bank, self._on.sent(self._bank_numbers(given.numbers)))

    @property
    def _bank_rows(self) -> Any:
        return self._on.rows(self._bank)

    def _bank_numbers(self, parameters: np.ndarray) -> np.ndarray:
        """Numbers of laws and parameters of the robots of the bank."""
        laws = np.atleast_2d(self._on.numbers)[:1, : self._laws]
        return np.hstack([np.tile(laws, (self.starts, 1)), parameters])

    @property
    def rows(self) -> Any:
        """``N x size``: robots as they are kept, a view where they are."""
        return self._on.rows(self.simulator._x)

    @property
    def kept(self) -> Any:
        """Robots as the device keeps them: rows, or on a GPU columns."""
        return self.simulator._x

    @kept.setter
    def kept(self, x: Any) -> None:
        self.simulator._x = x

    @property
    def own(self) -> Any:
        """``N x size``: inputs of laws and parameters of each robot, a view; steps and restarts read and write it."""
        return self._own

    @property
    def times(self) -> Any:
        """``N`` (s): since each robot started."""
        return self.simulator.times

    def part(self, name: str) -> Any:
        """Part of the robots' numbers.

        Args:
            name: ``pose`` (rows ``[R p]``, 12), ``joints``, ``twist``, ``rates``, or ``velocity``: the last two.

        Returns:
            ``N x k``: a view, on the device.
        """
        return self.rows[:, self._places[name]]

    def array(self, x: Any) -> Any:
        """Array on the device, without a copy where it is there already.

        Args:
            x: Array.

        Returns:
            Array of NumPy or CuPy.
        """
        return self._on.array(x)

    def step(self, steps: int, **inputs: Any) -> None:
        """Take steps with all robots, in one launch.

        Args:
            steps: Number of steps.
            inputs: Inputs of laws (N x k), on the device; not checked.
        """
        self.set(**inputs)
        self.simulator._x = self._on.iterated(self.simulator._x, self._clock, self._no_forces, steps)

    def set(self, **inputs: Any) -> None:
        """Set inputs of laws from now on.

        Args:
            inputs: Arrays (N x k or k) on the device, by name; not checked.
        """
        for name, value in inputs.items():
            for place, x in self.simulator._inputs.named(name, value):
                self._on.tune(place.place, self._on.array(x), self.robots)

    def restart(self, which: Any, index: Any) -> None:
        """Start some robots anew, from states and parameters of the bank.

        Args:
            which: ``N`` truth values, on the device.
            index: ``N`` whole numbers below ``K``, on the device: the entry of the bank for each.
        """
        self._on.restart(self.simulator._x, which, self._bank, index)
        if self._own.shape[1] > self._laws:
            self._on.restart(self._own_parameters, which, self._parameters, index)

    def kick(self, change: Any) -> None:
        """Change velocities of the base at once.

        Args:
            change: ``N x m``: added to the twist, on the device.
        """
        self.part("twist")[...] += change

    def points_of(self) -> Any:
        """Contact points of all robots: position, velocity, force and height of each, and the height of the base.

        Returns:
            ``N x (10 points + 1)``: all positions (m), then velocities (m/s), then forces (N), in world axes, then
            heights (m) above the ground, and that of the base; none without a contact.
        """
        return self._points(self.simulator._x, self._on.own_numbers(self.robots))

    def bank_points(self, index: Any) -> Any:
        """:meth:`points_of` of robots that start.

        Args:
            index: ``N`` whole numbers below ``K``: the entry of the bank for each.

        Returns:
            ``N x (10 points + 1)``.
        """
        return self._bank_points[index]

    def _points(self, x: Any, numbers: Any) -> Any:
        if self._sensed is None:
            return self._on.rows(self._on.sent(np.zeros((len(self._on.rows(x)), 0))))
        found = self._sensed(x, numbers)
        return self._on.rows(found) if hasattr(found, "get") else np.atleast_2d(found)


def _places(layout: Layout, head: int) -> dict[str, slice]:
    """Columns of the parts of a state among the numbers of a robot."""
    names = ("pose", "joints", "twist", "rates")
    ends = head + np.cumsum([0, 12, layout.joints, layout.m, layout.nv - layout.m])
    found = {name: slice(int(a), int(b)) for name, a, b in zip(names, ends[:-1], ends[1:], strict=True)}
    return found | {"velocity": slice(found["twist"].start, found["rates"].stop)}


def sensed(
    model: Model,
    x: Any,
    numbers: Any,
    *,
    contact: Any,
    layout: Layout,
    head: int,
    laws: int,
    varied: tuple[str, ...],
) -> Any:
    """``10 points + 1``: positions, velocities, forces and heights of the contact points, and height of the base."""
    model, contact = edited(model, contact, varied, numbers[laws:])
    state, memory, _ = layout.unpack(x[head:])
    motions, ground = point_motions(model, state, contact.points), contact.ground(model)
    velocities = [motion.J @ state.velocity for motion in motions]
    forces = [np.zeros(3) for _ in motions]
    sites = [m.touch(ground, around).site for m, around in zip(motions, contact.radii, strict=True)]
    if offers(contact, LinearizedForces):
        every = contact.pressed_points(model, (True,) * len(motions), state, memory[: contact.memory_size])
        forces = [
            where(less(site.height, 0.0), at.axes.T @ at.force, np.zeros(3))
            for site, at in zip(sites, every, strict=True)
        ]
    base = ground.site(state.pose[:3, 3]).height
    heights = [np.reshape(height, 1) for height in (*(site.height for site in sites), base)]
    return concatenate([*(motion.position for motion in motions), *velocities, *forces, *heights])
