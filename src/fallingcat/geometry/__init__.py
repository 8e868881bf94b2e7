"""Contact geometry: points of robots, terrain, signed distances, collision pairs."""

from .body_pairs import BodyPair, body_pairs
from .collision_pairs import SelfPairs, pushing_pairs
from .collision_points import CollisionPoints, collision_points, feet
from .contact_points import Plane, plane, point_jacobian, position
from .distances import Distance, distances, self_pairs
from .ellipsoids import ContactEllipsoid, rim
from .terrain import HeightField, Terrain

__all__ = [
    "BodyPair",
    "CollisionPoints",
    "ContactEllipsoid",
    "Distance",
    "HeightField",
    "Plane",
    "SelfPairs",
    "Terrain",
    "body_pairs",
    "collision_points",
    "distances",
    "feet",
    "plane",
    "point_jacobian",
    "position",
    "pushing_pairs",
    "rim",
    "self_pairs",
]
