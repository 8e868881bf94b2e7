"""Robot-specialised native code: trace, schedule, emit, call."""

from .cpu.state_blocks import aligned
from .ir.inputs import fields
from .kernel import Kernel, compile

__all__ = ["Kernel", "aligned", "compile", "fields"]
