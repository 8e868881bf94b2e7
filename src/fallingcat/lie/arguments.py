"""Methods of groups and charts look at the shapes of what they are given, so that none answers a wrong question.

The look is a comparison of tuples, some tenths of a microsecond.  Values are not looked at: NaN gives NaN, and whether
a matrix is an element of a group at all is what :meth:`Group.contains` says.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from ..arrays.arguments import of_shape

GROUP_ARGUMENTS = {
    **dict.fromkeys(["inverse", "vee", "log", "Ad", "coordinates", "split_element"], ("an element",)),
    **dict.fromkeys(["hat", "exp", "ad", "adt", "squared_angle", "split"], ("a vector",)),
    **dict.fromkeys(["dexp_left", "dexp_left_inverse", "dexp_right", "dexp_right_inverse"], ("a vector",)),
    **dict.fromkeys(["compose", "interpolate"], ("an element", "an element")),
    "logarithm_rate": ("a vector", "a vector"),
    **dict.fromkeys(["element", "split_coordinates"], ("coordinates",)),
    "moved": ("coordinates", "a vector"),
    "between": ("coordinates", "coordinates"),
}
"""Arguments of the methods of a group, by keys of :attr:`Group.shapes`."""


def check_shapes(kind: type[Any], takes: Mapping[str, tuple[str, ...]]) -> None:
    """Make the methods that the class ``kind`` defines look at their first argument, or their first two.

    ``takes`` says of each method what these are: keys of ``self.shapes``, which tells the shape of each.
    """
    for name in takes.keys() & vars(kind).keys():
        method = vars(kind)[name]
        if not getattr(method, "__isabstractmethod__", False):
            setattr(kind, name, _looking(method, takes[name]))


def _looking(method: Callable[..., Any], takes: tuple[str, ...]) -> Callable[..., Any]:
    signature, last = inspect.signature(method), len(takes) - 1

    @wraps(method)
    def looking(self: Any, *given: Any, **named: Any) -> Any:
        shapes = self.shapes
        try:
            fit = not named and given[0].shape == shapes[takes[0]] and given[last].shape == shapes[takes[last]]
        except (AttributeError, IndexError):
            fit = False
        if not fit:
            given = _admitted(self, signature.bind(self, *given, **named).args[1:], takes)
        try:
            return method(self, *given)
        except (TypeError, ValueError, OverflowError):
            _admitted(self, given, takes)  # an array of texts or of nothing is named here
            raise

    return looking


def _admitted(self: Any, given: tuple[Any, ...], takes: tuple[str, ...]) -> tuple[Any, ...]:
    seen = [of_shape(x, self.shapes[key], f"{key} of {self}") for x, key in zip(given, takes, strict=False)]
    return (*seen, *given[len(takes) :])
