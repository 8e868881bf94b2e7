"""Largest robots that symbols are good for; others are refused before minutes are lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ..errors import ModelError
from ..model import Model
from .frames import terms_of

MAX_LINKS: Final = 500
"""Largest number of links: more cannot have less than :data:`MAX_TERMS`, and to count them takes minutes."""
MAX_TERMS: Final = 20_000
"""Largest number of terms of the inertias of all links: more would take minutes and be unreadable."""
ADVICE: Final = "lock joints (model.lock), or compile a kernel of it (fallingcat.compile, fallingcat export)"


def check_links(model: Model) -> None:
    """Raise an error for a robot of more than :data:`MAX_LINKS` links."""
    if len(model.links) > MAX_LINKS:
        raise ModelError(f"{model.name!r} has {len(model.links):,} links, too many for symbols ({MAX_LINKS}): {ADVICE}")


def check_terms(model: Model, groups: Mapping[str, int], q: Sequence[Any], function: Callable[..., Any]) -> None:
    """Raise an error where a function of the robot would have more than :data:`MAX_TERMS` terms."""
    terms = terms_of(model, groups, [str(x) for x in q])
    if terms > MAX_TERMS:
        name = getattr(function, "__name__", "this function")
        count = f"about {terms:,} operations, too many for symbols ({MAX_TERMS:,})"
        raise ModelError(f"{name} of {model.name!r} would have {count}: {ADVICE}")
