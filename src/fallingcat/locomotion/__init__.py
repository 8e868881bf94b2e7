"""Locomotion: contact schedules, swing feet, footsteps, center-of-mass references, walking controllers."""

from .commands import VelocityCommand, approach
from .footsteps import dcm_step, ground_plane, on_plane, raibert
from .humanoid import HumanoidWalk
from .loop import WalkingLoop
from .pendulum import LinearPendulum, PendulumMotion
from .predictive import PredictiveWalk
from .quadruped import QuadrupedWalk
from .rigid_body_mpc import PredictedForces, RigidBodyMPC
from .schedule import Schedule, biped_walk, bound, gallop, pace, stand, trot, walk
from .swing import FootMotion, swing_foot

__all__ = [
    "FootMotion",
    "HumanoidWalk",
    "LinearPendulum",
    "PendulumMotion",
    "PredictedForces",
    "PredictiveWalk",
    "QuadrupedWalk",
    "RigidBodyMPC",
    "Schedule",
    "VelocityCommand",
    "WalkingLoop",
    "approach",
    "biped_walk",
    "bound",
    "dcm_step",
    "gallop",
    "ground_plane",
    "on_plane",
    "pace",
    "raibert",
    "stand",
    "swing_foot",
    "trot",
    "walk",
]
