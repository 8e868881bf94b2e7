"""A robot in the browser, moved by hand: ``fc.viewer.view(model)``, ``fallingcat view robot.urdf``."""

from .._deprecated import former_names
from .posed_robot import PosedRobot, Totals
from .viewer import Viewer, view

__all__ = ["PosedRobot", "Totals", "Viewer", "view"]

__getattr__ = former_names(__name__)
