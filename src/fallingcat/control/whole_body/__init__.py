"""Whole-body control: joint torques and contact forces that meet tasks."""
