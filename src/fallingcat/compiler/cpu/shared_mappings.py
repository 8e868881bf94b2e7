"""Libraries in one mapping: Linux joins neighbours of equal access, and code of libraries lies side by side in memory.

A library takes a mapping for each access that it asks for, and a process may have 65,530.  So libraries ask for one:
they have no variables, constants are read where code is (as linkers laid programs out for decades), and functions
elsewhere are called through constants, because the linker's own table of their addresses has an access of its own.
"""

from __future__ import annotations

import re
import struct

INLINE_BYTES = {"set": 256, "cpy": 128}
"""Bytes that every processor sets or copies without a call"""
_MEMORY = re.compile(
    r"call void @llvm\.mem(set|cpy)\.p0[.\w]*\(ptr ([^,\n]*), (i8|ptr) ([^,\n]*), i64 ([^,\n]*), i1 false\)"
)
_DECLARED = re.compile(r"\ndeclare [^@\n]*@((?!llvm\.)[\w.]+)\(")
_CALL = re.compile(r"call [^@%\n]*@((?!llvm\.)[\w.]+)\(")


def indirect_calls(text: str) -> str:
    r"""LLVM text whose calls of functions of other modules load the address from a constant of this one.

    Example:
        >>> print(indirect_calls("declare double @exp(double)\n  %y = call double @exp(double %x)"))
        declare double @exp(double)
          %outside.0 = load ptr, ptr @outside.exp
          %y = call double %outside.0(double %x)
        @outside.exp = internal constant ptr @exp
    """
    text = _MEMORY.sub(_memory_call, text)
    declared, used, pieces, done = set(_DECLARED.findall(f"\n{text}")), dict[str, None](), [], 0
    for k, call in enumerate(_CALL.finditer(text)):
        name = call[1]
        if name in declared or name in MEMORY:
            used[name] = None
            line = text.rindex("\n", 0, call.start()) + 1
            load = f"  %outside.{k} = load ptr, ptr @outside.{name}\n"
            pieces += [text[done:line], load, text[line : call.start(1) - 1], f"%outside.{k}"]
            done = call.end(1)
    more = [declaration for name, declaration in MEMORY.items() if name in used and name not in declared]
    constants = [f"@outside.{name} = internal constant ptr @{name}" for name in used]
    return "\n".join(["".join([*pieces, text[done:]]), *more, *constants])


MEMORY = {"memset": "declare void @memset(ptr, i32, i64)", "memcpy": "declare void @memcpy(ptr, ptr, i64)"}
"""Functions of C that are called for LLVM's; what they return, an argument, is not used"""


def _memory_call(found: re.Match[str]) -> str:
    """A call of C, where LLVM would make one."""
    which, to, kind, value, size = found.groups()
    if (value.startswith("%") and kind == "i8") or (size.isdigit() and int(size) <= INLINE_BYTES[which]):
        return found[0]
    return f"call void @mem{which}(ptr {to}, {kind.replace('i8', 'i32')} {value}, i64 {size})"


WRITE, ALLOCATED, EXECUTE = 1, 2, 4
"""Flags of ELF's sections"""


def one_access(code: bytes) -> bytes:
    """An ELF object whose constants have the access of code; other object files as they are."""
    if code[:6] != b"\x7fELF\x02\x01":  # 64 bits, little-endian
        return code
    out = bytearray(code)
    (table,), (size, number, names) = struct.unpack_from("<Q", code, 40), struct.unpack_from("<HHH", code, 58)
    (texts,) = struct.unpack_from("<Q", code, table + size * names + 24)
    for place in range(table, table + size * number, size):
        (name,), (flags,) = struct.unpack_from("<I", code, place), struct.unpack_from("<Q", code, place + 8)
        constant = not flags & WRITE or code.startswith(b".data.rel.ro", texts + name)  # written by the linker alone
        if flags & ALLOCATED and constant:
            struct.pack_into("<Q", out, place + 8, flags & ~WRITE | EXECUTE)
    return bytes(out)
