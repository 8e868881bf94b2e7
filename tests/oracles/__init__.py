"""Independent implementations of the equations of motion: slow, readable, each from its own principle.

None of them calls `fallingcat.dynamics`, a motion subspace, an adjoint or an inertia matrix of the library: they know
the elements of the groups, masses, and the equations that they cite.
"""
