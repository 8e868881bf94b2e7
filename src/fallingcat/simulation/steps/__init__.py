"""Steps as functions for every target, their derivatives, and gradients of runs."""
