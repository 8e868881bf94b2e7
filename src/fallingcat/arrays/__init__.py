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
    scale,
    skew,
    stack,
    to_casadi,
)
from .building import place_blocks as place_blocks
from .building import (
    rigid_product as rigid_product,
)
from .composed import absolute, arccos, arcsin, arctan, branch, clip, maximum, minimum, sign
from .elementwise import any_nonzero as any_nonzero
from .elementwise import arctan2, cos, exp, less, less_equal, log, sin, sqrt, tanh, where
from .elementwise import is_expression as is_expression
from .graph import Graph
from .linear import factor_tree as factor_tree
from .linear import inverse_root as inverse_root
from .linear import solve
from .linear import solve_tree as solve_tree
from .linear import solver as solver
from .map import columns, map_each
from .signatures import argument_sizes as argument_sizes
from .signatures import numbers_only as numbers_only
from .signatures import sizes_of as sizes_of
from .signatures import why_numbers_only as why_numbers_only
from .structured import gram as gram
from .structured import mirror as mirror
from .structured import rotate_matrix as rotate_matrix
from .structured import skew_mirror as skew_mirror
from .structured import upper_triangle as upper_triangle
from .traced import Traced
from .while_loop import while_loop

# For user code; the names imported "as" themselves are hooks of the algorithms and the compiler, and may change.
__all__ = [
    "Graph",
    "Traced",
    "absolute",
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
    "from_casadi",
    "is_numeric",
    "less",
    "less_equal",
    "log",
    "map_each",
    "maximum",
    "minimum",
    "scale",
    "sign",
    "sin",
    "skew",
    "solve",
    "sqrt",
    "stack",
    "tanh",
    "to_casadi",
    "where",
    "while_loop",
]
