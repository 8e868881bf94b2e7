"""What tests make known to the library's registries, they forget."""

from contextlib import contextmanager

import fallingcat as fc
from fallingcat.compiler.targets import TARGETS
from fallingcat.control.whole_body import controller_file
from fallingcat.model import loops

ALL = (fc.joints.KINDS, loops.KINDS, controller_file.KINDS, TARGETS, fc.io.READERS, fc.io.WRITERS)


@contextmanager
def restored():
    """What the registries know now, they know again afterwards."""
    before = [dict(registry._entries) for registry in ALL]
    try:
        yield
    finally:
        for registry, known in zip(ALL, before, strict=True):
            registry._entries.clear()
            registry._entries.update(known)
