"""One family of errors: catch :class:`FallingCatError` and you have caught everything that this library raises.

``str()`` of each is a single line that a user can act on: where it happened, then the rule that was broken, then the
way out.  What comes from a file is escaped, so that no name in it can move the cursor of a terminal or forge a line.

>>> from fallingcat.errors import FallingCatError, FileError
>>> try:
...     raise FileError("no DOCTYPE", file="robot.urdf", line=2, hint="remove the declaration")
... except FallingCatError as error:
...     print(error)
robot.urdf:2: no DOCTYPE (remove the declaration)
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from typing import Any

from .escaping import terminal

_LONGEST_QUOTE = 160


class FallingCatError(Exception):
    r"""Base class of all errors that this library raises on purpose.

    Example:
        >>> str(FallingCatError("two\nlines"))
        'two\\nlines'
    """

    def __str__(self) -> str:
        return terminal(self._message())

    def _message(self) -> str:
        return " ".join(str(arg) for arg in self.args)


class ModelError(FallingCatError):
    """Error of a model that breaks a rule: a cycle, an inertia that no body can have, a joint that does not exist.

    Example:
        >>> raise ModelError("joint 'knee' has two parents: 'thigh' and 'shank'")
        Traceback (most recent call last):
        fallingcat.errors.ModelError: joint 'knee' has two parents: 'thigh' and 'shank'
    """


class FileError(FallingCatError):
    """Error of a file that cannot be trusted.

    Args:
        rule: Rule that is broken.
        file: Path of the file.
        line: Line, if it is known.
        element: Element of the file, if it is known.
        hint: Way out, if there is one.

    Example:
        >>> error = FileError("mass must be positive", file="a.urdf", line=7, element="<link name='arm'>", hint="is -1")
        >>> str(error)
        "a.urdf:7: <link name='arm'>: mass must be positive (is -1)"
        >>> error.line, error.element
        (7, "<link name='arm'>")
    """

    def __init__(
        self,
        rule: str,
        *,
        file: str | os.PathLike[str],
        line: int | None = None,
        element: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(rule)
        self.rule = rule
        self.file = os.fsdecode(file)
        self.line = line
        self.element = element
        self.hint = hint

    def _message(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        element = None if self.element is None else _shorten(self.element)
        return _sentence([place, element], self.rule, self.hint)

    def __reduce__(self) -> tuple[Any, ...]:
        # pickle calls the class with `args` alone, and `file` is required: errors travel between worker processes
        where: dict[str, Any] = {"file": self.file, "line": self.line, "element": self.element, "hint": self.hint}
        return functools.partial(type(self), **where), (self.rule,)


class NumericsError(FallingCatError):
    """Error of a number that is no answer: NaN, a singular matrix, a chart at its singularity.

    Args:
        message: Rule that is broken.
        time: Time of the run (s), if there is one.
        joint: Joint that is concerned, if one is.
        value: Number that is wrong, if one is.

    Example:
        >>> raise NumericsError("the mass matrix is singular", time=0.25, joint="knee", value=float("nan"))
        Traceback (most recent call last):
        fallingcat.errors.NumericsError: t = 0.25 s: joint 'knee': the mass matrix is singular (value: nan)
    """

    def __init__(
        self, message: str, *, time: float | None = None, joint: str | None = None, value: object = None
    ) -> None:
        super().__init__(message)
        self.time = time
        self.joint = joint
        self.value = value

    def _message(self) -> str:
        time = None if self.time is None else f"t = {self.time:.6g} s"
        joint = None if self.joint is None else f"joint {_shorten(self.joint)!r}"
        value = None if self.value is None else f"value: {_shorten(' '.join(str(self.value).split()))}"
        return _sentence([time, joint], super()._message(), value)


class BrokenLawError(FallingCatError, AssertionError):
    """Error of a joint, integrator, contact, force law or change that breaks a law of its kind; see ``report``.

    Example:
        >>> raise BrokenLawError("joint kind 'saddle': the law 'neutral' is broken: residual 0.05, allowed 1e-12", None)
        Traceback (most recent call last):
        fallingcat.errors.BrokenLawError: joint kind 'saddle': the law 'neutral' is broken: residual 0.05, allowed 1e-12
    """

    def __init__(self, message: str, report: Any) -> None:
        super().__init__(message)
        self.report = report

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*self.args, self.report)


class Interrupted(KeyboardInterrupt):
    """Interruption by Ctrl-C; ``result`` is what was done until then: a trajectory, a rollout, a gait.

    It is a ``KeyboardInterrupt`` and no :class:`FallingCatError`, so that a loop over many runs ends with it.

    Example:
        >>> try:
        ...     raise Interrupted("interrupted at t = 0.25 s", "the run so far")
        ... except KeyboardInterrupt as stop:
        ...     print(stop, "-", stop.result)
        interrupted at t = 0.25 s - the run so far
    """

    def __init__(self, message: str, result: Any) -> None:
        super().__init__(message)
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*self.args, self.result)


class ExtraMissingError(FallingCatError, ImportError):
    """Error of a package that is not installed; names the extra that brings it.

    Args:
        extra: Name of the extra.
        package: Name of the package; None: that of the extra.
        purpose: Thing that needs it.

    Example:
        >>> raise ExtraMissingError("casadi", purpose="optimal control")
        Traceback (most recent call last):
        fallingcat.errors.ExtraMissingError: optimal control needs casadi: pip install '.[casadi]' in a clone of
        fallingcat
        >>> raise ExtraMissingError("symbolic", package="sympy")
        Traceback (most recent call last):
        fallingcat.errors.ExtraMissingError: this needs sympy: pip install '.[symbolic]' in a clone of fallingcat
    """

    def __init__(self, extra: str, *, package: str | None = None, purpose: str = "this") -> None:
        super().__init__(extra)
        self.extra = extra
        self.name = package or extra  # ImportError's own attribute: the module that was not found
        self.purpose = purpose

    def _message(self) -> str:
        return f"{self.purpose} needs {self.name}: {how_to_get(self.extra)}"


def how_to_get(extra: str) -> str:
    """Command that brings an extra, as long as the package is on no index.

    Example:
        >>> how_to_get("jax")
        "pip install '.[jax]' in a clone of fallingcat"
    """
    return f"pip install '.[{extra}]' in a clone of fallingcat"


def nearest_name_hint(name: str, names: Iterable[str]) -> str:
    """Hint behind "there is no ...": the nearest name, whatever its case, else up to three that contain what was said.

    Empty where none does.

    Example:
        >>> nearest_name_hint("Kne", ["hip", "knee"])
        "; do you mean 'knee'?"
    """
    from difflib import get_close_matches

    said, folded = name.casefold(), {each.casefold(): each for each in names}
    part = said.rpartition("/")[0]  # of a combined model, whose base link has the name of the part alone
    close = get_close_matches(said, folded, n=1) or [each for each in folded if said and said in each][:3]
    close = close or [part] * (part in folded)
    return f"; do you mean {' or '.join(repr(folded[each]) for each in close)}?" if close else ""


def describe(x: object) -> str:
    """Description of a wrong argument in a message: itself where it is short, else its kind.

    Example:
        >>> describe("cat.urdf"), describe(None), describe([1, 2]), describe([])
        ("'cat.urdf'", 'None', 'a list', 'an empty list')
    """
    shape = getattr(x, "shape", None)
    if shape == () and hasattr(x, "item"):
        return describe(x.item())  # a number of NumPy
    if isinstance(shape, tuple):
        return f"an array of shape {shape}"
    if isinstance(x, (list, tuple, dict)) and not x:
        return f"an empty {type(x).__name__}"
    text = repr(x) if x is None or isinstance(x, (str, int, float)) else f"a {type(x).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."


def _sentence(places: list[str | None], rule: str, remark: str | None) -> str:
    line = ": ".join([*(place for place in places if place), rule])
    return f"{line} ({remark})" if remark else line


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 3] + "..."
