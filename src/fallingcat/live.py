"""Former name of :mod:`fallingcat.viewer`."""

from ._deprecated import former_module

__getattr__ = former_module(__name__, "viewer")
