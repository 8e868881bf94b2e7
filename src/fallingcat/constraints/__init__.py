"""Loop closures: kinematics and dynamics of robots with closed kinematic loops."""

from .._deprecated import former_names
from .loop_closure import LoopInverseDynamics, assemble, equations, forward_dynamics, inverse_dynamics

__all__ = ["LoopInverseDynamics", "assemble", "equations", "forward_dynamics", "inverse_dynamics"]

__getattr__ = former_names(__name__)
