"""What a run of a large robot takes, estimated before it begins."""

from __future__ import annotations

from ..model import Model
from ..progress import check_memory, warn_of_time

MATRICES_IN_MEMORY = 6
"""nv x nv, in memory at once"""
COMPILE_SECONDS_PER_NV = 0.03
"""Of machine code for each degree of freedom; measured with 100 to 400"""
FACTORIZATION_SECONDS_PER_NV3 = 1e-9
"""Of dense factorizations, for each degree of freedom cubed"""


def check_effort(model: Model) -> None:
    """An error where a run would take more memory than machines have, a warning where its code takes long to make."""
    what = f"a run of {model.name!r} with {model.nv:,} degrees of freedom"
    check_memory(what, MATRICES_IN_MEMORY * 8.0 * model.nv**2, "lock joints (model.lock), or take a part of it")
    warn_of_time(what, COMPILE_SECONDS_PER_NV * model.nv + FACTORIZATION_SECONDS_PER_NV3 * model.nv**3)
