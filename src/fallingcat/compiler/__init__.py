"""Robot-specialised native code: trace, schedule, emit, call."""

from .compilation import compile
from .cpu.state_blocks import aligned
from .ir.inputs import fields
from .kernel import Kernel

__all__ = ["Kernel", "aligned", "compile", "fields"]
