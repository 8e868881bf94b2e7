"""Contact geometry: points of robots, terrain, signed distances, collision pairs."""
