"""Triangle meshes of robot files: STL, OBJ, MSH, COLLADA; volume and inertia of solids."""
