"""Robot-specialised native code: trace, schedule, emit, call."""

from .ir.inputs import fields
from .kernel import Kernel, aligned, compile

__all__ = ["Kernel", "aligned", "compile", "fields"]
