"""Declarations of functions about themselves, for those who compile them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def numbers_only(why: str) -> Callable[[F], F]:
    """Declare that a function takes floats only, and why: no kernel can be made of it.

    Args:
        why: Reason, as error messages give it.

    Returns:
        Decorator.

    Example:
        >>> @numbers_only("it compares with a tolerance")
        ... def vanishes(x):
        ...     return abs(x) < 1e-9
        >>> why_numbers_only(vanishes), why_numbers_only(abs)
        ('it compares with a tolerance', None)
    """

    def decorator(function: F) -> F:
        function.numbers_only = why  # type: ignore[attr-defined]
        return function

    return decorator


def argument_sizes(**sizes: str) -> Callable[[F], F]:
    """Declare the lengths of the further arguments of a function of model and state, by attributes of the model.

    Args:
        **sizes: Attribute of the model that is the length of each argument, by the argument's name.

    Returns:
        Decorator.

    Example:
        >>> @argument_sizes(torques="n")
        ... def power(model, state, torques):
        ...     return torques @ state.rates
        >>> sizes_of(power)
        {'torques': 'n'}
    """

    def decorator(function: F) -> F:
        function.argument_sizes = sizes  # type: ignore[attr-defined]
        return function

    return decorator


def sizes_of(function: Callable[..., Any]) -> dict[str, str]:
    """Lengths that :func:`argument_sizes` declared, empty for other functions.

    Args:
        function: Function of model, state and further arguments.

    Returns:
        Attribute of the model that is the length of each argument, by the argument's name.

    Example:
        >>> sizes_of(abs)
        {}
    """
    return dict(getattr(function, "argument_sizes", {}))


def why_numbers_only(function: Callable[..., Any]) -> str | None:
    """Reason that :func:`numbers_only` declared.

    Args:
        function: Function.

    Returns:
        Reason, None where there is none.

    Example:
        >>> why_numbers_only(abs) is None
        True
    """
    why: str | None = getattr(function, "numbers_only", None)
    return why
