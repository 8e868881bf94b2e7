"""The only place that knows array kinds.

Every algorithm of the library is written once, for five kinds of number:

========  ======================================  ===========================================
kind      where it lives                          what it is for
========  ======================================  ===========================================
float     NumPy arrays (complex too)              answers; complex-step derivatives
traced    NumPy arrays of :class:`Traced`         native kernels, operation counts
CasADi    NumPy arrays of ``casadi.SX``           optimal control
SymPy     NumPy arrays of SymPy expressions       derivations
JAX       ``jax.Array``                           automatic differentiation, accelerators
========  ======================================  ===========================================

``@``, ``+``, ``*``, ``.T`` and slicing mean the same for all five; what differs goes through the functions of
this package.  No algorithm asks which kind it was given, and none branches on a value.

>>> from fallingcat.arrays import Graph, array, cos, sin
>>> def rotation(angle):
...     c, s = cos(angle), sin(angle)
...     return array([[c, -s], [s, c]])
>>> rotation(0.0)
array([[ 1., -0.],
       [ 0.,  1.]])
>>> graph = Graph()
>>> rotation(graph.input("q0")) @ array([1.0, 0.0])
array([cos(q0), sin(q0)], dtype=object)
"""

from .building import (
    array,
    block,
    concatenate,
    cross,
    from_casadi,
    is_numeric,
    rigid_product,
    scale,
    skew,
    stack,
    to_casadi,
)
from .composed import absolute, arccos, arcsin, arctan, branch, clip, maximum, minimum, sign
from .elementwise import any_nonzero, arctan2, cos, exp, is_expression, less, less_equal, log, sin, sqrt, tanh, where
from .graph import Graph
from .linear import factored, inverse_root, solve, solve_tree, solver
from .map import columns, map_each
from .signatures import numbers_only, sizes_of, takes, why_numbers_only
from .structured import gram, half, mirror, skew_mirror, turned
from .traced import Traced
from .while_loop import while_loop

__all__ = [
    "Graph",
    "Traced",
    "absolute",
    "any_nonzero",
    "arccos",
    "arcsin",
    "arctan",
    "arctan2",
    "array",
    "block",
    "branch",
    "clip",
    "columns",
    "concatenate",
    "cos",
    "cross",
    "exp",
    "factored",
    "from_casadi",
    "gram",
    "half",
    "inverse_root",
    "is_expression",
    "is_numeric",
    "less",
    "less_equal",
    "log",
    "map_each",
    "maximum",
    "minimum",
    "mirror",
    "numbers_only",
    "rigid_product",
    "scale",
    "sign",
    "sin",
    "sizes_of",
    "skew",
    "skew_mirror",
    "solve",
    "solve_tree",
    "solver",
    "sqrt",
    "stack",
    "takes",
    "tanh",
    "to_casadi",
    "turned",
    "where",
    "while_loop",
    "why_numbers_only",
]
