"""Rigid contact: points that a plane holds exactly, joint stops, impacts."""
