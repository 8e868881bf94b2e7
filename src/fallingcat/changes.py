"""Every formulation in use, as a change of velocity of the one set of equations of motion: ``eom.change(...)``.

Each is a function of a model and a state that gives a :class:`~fallingcat.VelocityChange`; write your own with
:meth:`VelocityChange.of <fallingcat.VelocityChange.of>`.

>>> import numpy as np
>>> import fallingcat as fc
>>> cat = fc.robots.cat()
>>> state = cat.random_state(np.random.default_rng(0))
>>> eom = fc.equations(cat, state).change(fc.changes.mixed(cat, state))
>>> bool(np.allclose(eom.v[:3], state.pose[:3, :3] @ state.twist[:3]))
True
"""

from .formulations import (
    base_at,
    body,
    center_of_mass_base,
    centroidal,
    decoupling,
    inertial,
    internal_external,
    locked,
    mixed,
    momentum_map,
    world_linear,
)

__all__ = [
    "base_at",
    "body",
    "center_of_mass_base",
    "centroidal",
    "decoupling",
    "inertial",
    "internal_external",
    "locked",
    "mixed",
    "momentum_map",
    "world_linear",
]
