"""Loop closures: kinematics and dynamics of robots with closed kinematic loops."""
