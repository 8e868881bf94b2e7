"""URDF, the robot format of ROS: reading, writing, xacro."""
