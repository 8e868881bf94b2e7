"""Parameters of a robot as symbols: masses, centers, inertias, lengths, gravity, springs and rotors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import sympy

from ..arrays import is_expression
from ..errors import ModelError, describe, nearest_name_hint
from ..model import Body, Frame, Joint, Link, Model, Passive
from ..records import concise

KINDS: Final = ("masses", "centers", "inertias", "lengths", "gravity", "stiffnesses", "dampings", "rests", "armatures")
"""Kinds of parameters that can be symbols."""
_AXES: Final = "xyz"
_SYMBOL: Final = re.compile(r"(?=.{1,20}$)[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)?", re.ASCII)


@concise
class Symbols(NamedTuple):
    """Robot with symbolic parameters, and the numbers of the symbols.

    Example:
        >>> import fallingcat as fc
        >>> found = fc.symbolic.symbols(fc.robots.prismatic_hopper(), "masses")
        >>> sorted(map(str, found.values))
        ['m_0', 'm_1']
    """

    model: Model
    values: dict[Any, float]
    """symbol -> number (SI units)"""


class Parameter(NamedTuple):
    """One number of a robot: which kind, how its symbol is called, and whether it can only be positive."""

    kind: str
    name: str
    positive: bool = False


def symbols(
    model: Model, parameters: str | Sequence[str] = "all", names: Mapping[str, str | Sequence[str]] | None = None
) -> Symbols:
    """Replace parameters of a robot by symbols.

    Zeros stay zero, and rotations of placements stay numbers. Links are numbered from the base, 0, and joint ``i``
    carries link ``i``: ``m_i`` (kg), ``c_ix, c_iy, c_iz`` (center, m), ``I_ixx, I_ixy, ...`` (about the center, kg
    m^2); ``l_ix, ...`` (placement of joint i on its parent, m), ``k_i, d_i, r_i`` (spring, damper, rest position),
    ``a_i`` (armature); ``f_kx, ...`` (placement of frame k); ``g``, or ``g_x, g_y, g_z`` (m/s^2).

    Args:
        model: Robot.
        parameters: ``"all"``, or kinds of parameters (:data:`KINDS`) and single names (``m_1``).
        names: Other names; parameters under one name are the same symbol: ``{"l": ["l_1x", "f_1x"]}``.

    Returns:
        The robot with symbols (``.model``) and the number of each symbol (``.values``).

    Example:
        >>> import fallingcat as fc
        >>> robot = fc.robots.revolute_hopper()
        >>> hopper, values = fc.symbolic.symbols(robot, ["masses", "gravity"], {"l": ["l_1x", "f_1x"]})
        >>> hopper.mass, hopper.gravity, hopper.joints[0].placement[0, 3]
        (m_0 + m_1, array([0.0, -g, 0.0], dtype=object), l)
        >>> values[sympy.Symbol("l", real=True)]
        0.12
    """
    if not isinstance(model, Model):
        raise ModelError(f"the first argument is a Model, not {describe(model)}: load a file, or take one of robots")
    one_axis = sum(x != 0.0 for x in model.gravity) == 1
    called = _symbol_names(names or {})
    wanted = {*_as_words(parameters, "parameters")}
    values: dict[Any, float] = {}
    known: set[str] = set()

    def change(at: Parameter, x: Any) -> Any:
        falls = at.kind == "gravity" and one_axis
        name = "g" if falls else at.name
        known.update((at.name, name))
        if is_expression(x) or not {"all", at.kind, at.name, *_short_names(at)} & {*wanted, *called}:
            return x
        own = called.get(name) or called.get(at.name)
        if x == 0.0:
            if own:
                raise ModelError(f"the symbol {own!r} cannot stand for {name}, which is 0 and stays 0")
            return x
        symbol = sympy.Symbol(own or name, **({"positive": True} if at.positive or falls else {"real": True}))
        _assign_number(values, symbol, abs(float(x)) if falls else float(x), name)
        return -symbol if falls and x < 0.0 else symbol

    changed = map_numbers(model, change)
    _check_known(wanted, called, known)
    return Symbols(changed, values)


def _check_known(wanted: set[str], called: Mapping[str, str], known: set[str]) -> None:
    """Raise an error for parameters that the robot has not, and for names of other parameters."""
    if unknown := (wanted | {*called}) - {"all", "none", *KINDS} - known:
        name = sorted(unknown)[0]
        hint = nearest_name_hint(name, [*KINDS, *known])
        raise ModelError(f"there is no parameter {name!r}{hint or '.'} Take {', '.join(KINDS)} or names such as m_0")
    if twice := {*called.values()} & (known - {*called}):
        raise ModelError(f"the symbol {sorted(twice)[0]!r} is the name of another parameter: choose another")


def _short_names(at: Parameter) -> set[str]:
    return {"g"} if at.kind == "gravity" else set()


def _symbol_names(names: Mapping[str, str | Sequence[str]]) -> dict[str, str]:
    """Parameter -> the symbol that stands for it."""
    if not isinstance(names, Mapping):
        raise ModelError(f"names are symbols and what they stand for, not {describe(names)}")
    called: dict[str, str] = {}
    for symbol, parameters in names.items():
        if not isinstance(symbol, str) or not _SYMBOL.fullmatch(symbol):
            raise ModelError(f"a symbol is called by letters and digits, with an index: m, l_1, not {describe(symbol)}")
        for each in _as_words(parameters, f"what {symbol!r} stands for"):
            if each in called:
                raise ModelError(f"two symbols stand for {each}: {called[each]!r} and {symbol!r}")
            called[each] = symbol
    return called


def _as_words(given: Any, what: str) -> tuple[str, ...]:
    """One word, or several."""
    words = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else (None,)
    if not all(isinstance(word, str) for word in words):
        raise ModelError(f"{what}: a name or a list of names, not {describe(given)}")
    return words


def _assign_number(values: dict[Any, float], symbol: Any, number: float, name: str) -> None:
    """A symbol has one number."""
    for known in values:
        if str(known) == str(symbol) and (known != symbol or values[known] != number):
            raise ModelError(f"the symbol '{symbol}' is {values[known]!r} and cannot stand for {name} = {number!r}")
    values[symbol] = number


def map_numbers(model: Model, change: Callable[[Parameter, Any], Any]) -> Model:
    """The robot with ``change(which, number)`` instead of each number."""
    links = tuple(replace(link, body=_body(link, i, change)) for i, link in enumerate(model.links))
    joints = tuple(_joint(joint, i + 1, change) for i, joint in enumerate(model.joints))
    frames = tuple(
        Frame(frame.name, frame.link, _map_placement(frame.placement, f"f_{i + 1}", change))
        for i, frame in enumerate(model.frames)
    )
    gravity: Any = [change(Parameter("gravity", f"g_{axis}"), x) for axis, x in zip(_AXES, model.gravity, strict=True)]
    none: dict[str, Any] = dict.fromkeys(("loops", "actuators", "force_elements", "tendons"), ())
    return replace(model, links=links, joints=joints, gravity=gravity, frames=frames, **none)


def _body(link: Link, i: int, change: Callable[[Parameter, Any], Any]) -> Body:
    body = link.body
    mass = change(Parameter("masses", f"m_{i}", positive=True), body.mass)
    center: Any = [change(Parameter("centers", f"c_{i}{a}"), x) for a, x in zip(_AXES, body.center, strict=True)]
    upper: dict[tuple[int, int], Any] = {}
    for r, c in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
        name = f"I_{i}{_AXES[r]}{_AXES[c]}"
        upper[r, c] = upper[c, r] = change(Parameter("inertias", name, positive=r == c), body.inertia[r, c])
    inertia: Any = [[upper[r, c] for c in range(3)] for r in range(3)]
    return Body(mass, center, inertia)


def _joint(joint: Joint, i: int, change: Callable[[Parameter, Any], Any]) -> Joint:
    numeric = joint.passive
    passive = Passive(
        damping=change(Parameter("dampings", f"d_{i}", positive=True), numeric.damping),
        friction=numeric.friction,
        stiffness=change(Parameter("stiffnesses", f"k_{i}", positive=True), numeric.stiffness),
        rest=change(Parameter("rests", f"r_{i}"), numeric.rest),
    )
    rotors = np.asarray(joint.armature)
    armature = (
        [change(Parameter("armatures", f"a_{i}", positive=True), x) for x in rotors] if len(rotors) == 1 else rotors
    )
    return replace(
        joint,
        placement=_map_placement(joint.placement, f"l_{i}", change),
        offset=_map_placement(joint.offset, f"o_{i}", change),
        passive=passive,
        armature=armature,
    )


def _map_placement(H: np.ndarray, name: str, change: Callable[[Parameter, Any], Any]) -> Any:
    """A placement with other lengths; expressions in its turn are changed too."""
    out = H.astype(object).tolist()
    for r in range(3):
        out[r][3] = change(Parameter("lengths", f"{name}{_AXES[r]}"), out[r][3])
        for c in range(3):
            if is_expression(out[r][c]):
                out[r][c] = change(Parameter("turns", f"{name}{_AXES[r]}{_AXES[c]}"), out[r][c])
    return out


def numbers(model: Model, values: Mapping[Any, float]) -> Model:
    """Substitute numbers for the symbols of a robot.

    Args:
        model: Robot with symbolic parameters.
        values: Number of each symbol.

    Returns:
        Robot of floats.

    Example:
        >>> import fallingcat as fc
        >>> hopper = fc.robots.revolute_hopper()
        >>> abs(numbers(*symbols(hopper)).mass - hopper.mass) < 1e-15
        True
    """

    def change(at: Parameter, x: Any) -> Any:
        if not is_expression(x):
            return x
        found = sympy.sympify(x).subs(values)
        if not found.is_number:
            missing = sorted(map(str, found.free_symbols))[0]
            raise ModelError(f"the symbol {missing!r} has no number: add it to values")
        return float(found)

    return map_numbers(model, change)
