"""Contact solvers: Delassus operators, cone projections and a proximal Newton method."""
