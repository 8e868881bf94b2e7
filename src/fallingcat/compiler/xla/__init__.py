"""Kernels that JAX calls: XLA's foreign function interface."""
