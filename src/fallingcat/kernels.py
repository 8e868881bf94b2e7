"""Former name of :mod:`fallingcat.compiler`."""

from ._deprecated import former_module

__getattr__ = former_module(__name__, "compiler")
