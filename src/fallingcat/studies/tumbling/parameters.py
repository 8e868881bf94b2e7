"""Parameters of the study of a tumbling arm."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..kind import Parameters

Angles = Annotated[list[float], Field(min_length=7, max_length=7)]


class TumblingParameters(Parameters):
    """Parameters of the arm's shape, its tumbling, its laws and its sensors."""

    duration: Annotated[float, Field(gt=0.0, le=600.0)] = 60.0
    """s"""
    spin: Annotated[list[float], Field(min_length=3, max_length=3)]
    """deg/s: locked angular velocity at the start"""
    target: Angles
    """deg: where the joints should be"""
    offset: Angles
    """deg: how far from there they start"""
    frequency: Annotated[float, Field(gt=0.0, le=20.0)] = 1.5
    """rad/s: of the joints' springs, on the inertias that they move"""
    damping: Annotated[float, Field(gt=0.0, le=5.0)] = 0.2
    """damping ratio of the joints; below 1 they swing"""
    pose_gain: Annotated[float, Field(gt=0.0, le=200.0)] = 100.0
    """k (1/s), with perfect poses"""
    locked_gain: Annotated[float, Field(gt=0.0, le=1e4)] = 100.0
    """l (N/m, N m/rad), with perfect poses"""
    pose_rate: Annotated[float, Field(gt=0.0, le=100.0)] = 10.0
    """poses a second"""
    latency: Annotated[float, Field(ge=0.0, le=1.0)] = 0.05
    """s"""
    rotation_noise: Annotated[float, Field(ge=0.0, le=10.0)] = 0.2
    """deg"""
    position_noise: Annotated[float, Field(ge=0.0, le=1.0)] = 0.005
    """m"""
    rate_noise: Annotated[float, Field(ge=0.0, le=10.0)] = 0.2
    """deg/s: of the joints' rates"""
    gains: Annotated[int, Field(ge=3, le=50)] = 9
    """observer gains that are tried"""
    frequencies: Annotated[int, Field(ge=2, le=50)] = 6
    """frequencies of the joints that are tried"""
    noises: Annotated[int, Field(ge=1, le=1000)] = 12
    """runs with noise of each"""
    samples: Annotated[int, Field(ge=10, le=1_000_000)] = 10_000
    """starts of the Monte Carlo"""
