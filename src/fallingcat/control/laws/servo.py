"""Position servos whose targets every call of a simulation step may change."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from ...arrays import array
from ...arrays.arguments import shape_of
from ...arrays.types import Matrix_nv_nv, Scalar, Vector_n
from ...errors import ModelError
from ...model import Model, State
from ...records import concise
from .springs import on_joints
from .torque_law import TorqueLaw, as_gain, as_tuple


@concise
@dataclass(frozen=True)
class PositionServo(TorqueLaw):
    """Position servos on joints: ``tau = kp (targets - q) + kd (velocities - rates)``.

    In :class:`fallingcat.Simulator` and :class:`fallingcat.simulation.BatchSimulator`, all four are inputs of the
    compiled step: ``sim.step(targets=...)`` changes them at any call.  Implicit steps foresee stiffness and damping;
    effort and speed limits of the joints bound the torques.

    Args:
        kp: Stiffness (N m/rad or N/m), one number or one for each joint.
        kd: Damping (N m s/rad or N s/m), one number or one for each joint.
        targets: Coordinates (rad or m) at which joints are held, one number or one for each joint.
        velocities: Rates (rad/s or m/s) that come with the targets, one number or one for each joint.
        only: Names of the joints, in the order of the other arguments; None: all joints, in the model's order.
        name: Name of its line in the energy ledger.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> servo = fc.control.PositionServo(kp=20.0, kd=1.0, targets=[0.5, 0.0, 0.0])
        >>> servo.torques(arm, arm.state(rates=[0.0, 0.0, 1.0]))
        array([10.,  0., -1.])
    """

    kp: Any
    kd: Any = 0.0
    targets: Any = 0.0
    velocities: Any = 0.0
    only: tuple[str, ...] | None = None
    name: str = "position servos"
    inputs = MappingProxyType({x: x for x in ("kp", "kd", "targets", "velocities")})

    def __post_init__(self) -> None:
        """Check gains and targets, and turn them into plain data."""
        super().__post_init__()
        for part in ("kp", "kd"):
            object.__setattr__(self, part, as_gain(getattr(self, part), f"{part} of {self.name!r}"))
        for part in ("targets", "velocities"):
            x = getattr(self, part)
            alone = isinstance(x, (int, float, np.number))
            row = as_tuple([x] if alone else x, f"{part} of {self.name!r}")
            object.__setattr__(self, part, row[0] if alone else row)

    def commanded_torques(self, model: Model, t: Scalar, state: State) -> Vector_n:
        """``kp (targets - q) + kd (velocities - rates)`` of its joints, else zero."""
        rates, coordinates = self._rates(model), _within([model.q_slices[i] for i in self._joints(model)])
        kp, kd, targets, velocities = (self._of_each(model, part) for part in ("kp", "kd", "targets", "velocities"))
        pull = kp * (targets - state.joints[coordinates]) + kd * (velocities - state.rates[rates])
        return np.eye(model.n)[:, rates] @ pull

    def impedance(self, model: Model, state: State) -> tuple[Matrix_nv_nv, Matrix_nv_nv]:
        """``kp`` and ``kd`` on the diagonal of its joints."""
        spread = np.eye(model.n)[:, self._rates(model)]
        K, D = (on_joints(model, spread @ self._of_each(model, part)) for part in ("kp", "kd"))
        return K, D

    def sized(self, model: Model) -> PositionServo:
        """Servo with one number for each of its joints in all inputs."""
        parts: dict[str, Any] = {part: tuple(self._of_each(model, part).tolist()) for part in self.inputs}
        return replace(self, **parts)

    def check(self, model: Model) -> None:
        """Check that its joints are angles and lengths, and that inputs have one number for each."""
        super().check(model)
        for i in self._joints(model):
            if not model.joints[i].kind.group.additive:
                raise ModelError(f"joints of {self.name!r} must be angles and lengths, got {model.joints[i].name!r}")
        for part in self.inputs:
            self._of_each(model, part)

    def _joints(self, model: Model) -> list[int]:
        if self.only is not None:
            return [model.leading_index(name) for name in self.only]
        return [i for i, leader in enumerate(model.leaders) if leader == i and model.joints[i].nv]

    def _rates(self, model: Model) -> list[int]:
        return _within([model.v_slices[i] for i in self._joints(model)])

    def _of_each(self, model: Model, part: str) -> Any:
        """One number of any kind for each joint."""
        x, count = getattr(self, part), len(self._rates(model))
        if not isinstance(x, tuple):
            return x * np.ones(count)
        if len(x) != count:
            raise ModelError(f"{part} of {self.name!r} must have shape ({count},), got {shape_of(x)}")
        return array(list(x)) if count else np.zeros(0)


def _within(slices: list[slice]) -> list[int]:
    return [i for place in slices for i in range(place.start, place.stop)]
