"""The functions of each kind of number, one file each, under the same names.

(``traced`` numbers bring their own, in ``arrays.traced``; JAX has them in ``jax.numpy``.)
"""
