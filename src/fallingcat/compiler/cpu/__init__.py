"""Programs on this processor: LLVM text, machine code and the ways into it from Python; without LLVM, NumPy."""
