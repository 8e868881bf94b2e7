"""Inverse kinematics: configurations and velocities that meet tasks."""
