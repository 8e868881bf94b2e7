"""Programs for elsewhere: C99 text, a ``casadi.Function``, a function of JAX arrays."""
