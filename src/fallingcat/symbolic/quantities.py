"""Derived quantities by name: the library function of each, or its derivation from others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import sympy

from .. import dynamics as dyn
from .. import formulations as form
from ..arrays import solve
from ..changes import decoupling
from ..errors import ModelError, describe, nearest_name_hint
from ..model import Model, State
from . import locked
from .parameters import KINDS as KINDS

if TYPE_CHECKING:
    from .derivation import Derivation


class Quantity(NamedTuple):
    """A function ``f(model, state, **options)`` of the library, or one field of what it gives."""

    meaning: str
    function: Callable[..., Any]
    options: Mapping[str, Any] = {}
    field: str = ""


class DerivedQuantity(NamedTuple):
    """Quantity that follows from other quantities."""

    meaning: str
    make: Callable[[Derivation], Any]


def _decoupled_equations(model: Model, state: State) -> dict[str, Any]:
    """The equations of the locked velocity and the joint rates ([Feurstein] (3.80)), from Hamel's."""
    change = decoupling(model, state)
    eom = form.equations(model, state, "hamel").change(change)
    return {"T": change.T, "M": eom.M, "C": eom.C, "g": eom.g}


def _inverse_mass(model: Model, state: State) -> Any:
    M = dyn.mass_matrix(model, state)
    return solve(M, np.eye(len(M)))


QUANTITIES: Final[dict[str, Quantity]] = {
    "M": Quantity("mass matrix", dyn.mass_matrix),
    "Minv": Quantity("inverse of the mass matrix", _inverse_mass),
    "Mdot": Quantity("rate of the mass matrix", dyn.mass_matrix_derivative),
    "C": Quantity("Coriolis matrix, Christoffel", dyn.coriolis_matrix, {"factorization": "christoffel"}),
    **{
        f"C_{name}": Quantity(f"Coriolis matrix, {name}", dyn.coriolis_matrix, {"factorization": name})
        for name in dyn.FACTORIZATIONS
    },
    "g": Quantity("gravity forces", dyn.gravity_forces),
    "b": Quantity("bias forces C v + g", dyn.bias_forces),
    "T": Quantity("kinetic energy", dyn.kinetic_energy),
    "U": Quantity("potential energy", dyn.potential_energy),
    "h": Quantity("momentum, base frame", dyn.momentum),
    "h_w": Quantity("momentum, world frame", dyn.momentum, {"frame": "world"}),
    "h_c": Quantity("momentum, at the center of mass, world axes", dyn.momentum, {"frame": "centroidal"}),
    "J_h": Quantity("centroidal momentum matrix", dyn.centroidal_momentum_matrix),
    "o_wc": Quantity("center of mass in the world", dyn.center_of_mass),
    "J_c": Quantity("Jacobian of the center of mass", dyn.center_of_mass_jacobian),
    "A": Quantity("mechanical connection", form.connection),
    "Adot": Quantity("rate of the connection", form.connection_derivative),
    "mu": Quantity("locked velocity", form.locked_velocity),
    "F": Quantity("curvature of the connection", form.curvature),
    **{
        name: Quantity(meaning, form.reduced_equations, field=name)
        for name, meaning in {
            "Mb": "locked inertia",
            "Lq": "reduced shape inertia",
            "P": "rate of the locked inertia",
            "S": "derivative of the locked inertia, times mu",
            "Gamma": "reduced shape Coriolis matrix",
            "B": "curvature force matrix",
            "D_q": "Coriolis part of the joint rates (REL)",
            "D_mu": "Coriolis part of the locked velocity (REL)",
        }.items()
    },
    **{
        f"{name}_dec": Quantity(meaning, _decoupled_equations, field=name)
        for name, meaning in {
            "T": "decoupling transform",
            "M": "decoupled mass matrix",
            "C": "decoupled Coriolis matrix (Hamel)",
            "g": "decoupled gravity forces",
        }.items()
    },
}


def _springs(d: Derivation) -> Any:
    """``sum k (q - rest)^2 / 2`` over the joints that are angles or lengths."""
    total, at = sympy.Integer(0), d.model.base.nq
    for joint, place in zip(d.model.joints, d.model.q_slices, strict=True):
        if joint.nq == 1:
            k, rest = map(sympy.nsimplify, (joint.passive.stiffness, joint.passive.rest))
            total += k * (d.q[at + place.start] - rest) ** 2 / 2
    return total


DERIVED: Final[dict[str, DerivedQuantity]] = {
    "V": DerivedQuantity("energy of the springs", _springs),
    "E": DerivedQuantity(
        "energy: kinetic, potential, springs", lambda d: d._by_name("T") + d._by_name("U") + _springs(d)
    ),
    "tau": DerivedQuantity("forces of a motion (inverse dynamics)", lambda d: d.computed(dyn.inverse_dynamics, d.a)),
    "o_bc": DerivedQuantity("center of mass in the base frame", locked.center),
    "w_bc": DerivedQuantity("angular part of the connection, times the rates", locked.rate),
    "theta_bc": DerivedQuantity("locked angle: the integral of w_bc", locked.angle),
    "H_bc": DerivedQuantity("pose of the center-of-mass frame that turns with the locked velocity", locked.pose),
    "integrability": DerivedQuantity("whether the curvature vanishes", lambda d: not any(d["F"])),
}


def meaning(name: str) -> str:
    """Meaning of a quantity in words."""
    if name not in QUANTITIES and name not in DERIVED:
        raise unknown(name)
    return QUANTITIES[name].meaning if name in QUANTITIES else DERIVED[name].meaning


def unknown(name: Any) -> ModelError:
    """Error for an unknown name; the name may be in the words for a quantity, ``mass`` in ``mass matrix``."""
    names, said = (*QUANTITIES, *DERIVED), name if isinstance(name, str) else ""
    wordy = [each for each in names if len(said) > 2 and said.casefold() in meaning(each)]
    hint = f"; do you mean {wordy[0]!r}?" if wordy else nearest_name_hint(said, names)
    return ModelError(f"there is no quantity {describe(name)}{hint or '.'} They are {', '.join(names)}")
