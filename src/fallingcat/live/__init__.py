"""A robot in the browser, moved by hand: ``fc.live.view(model)``, ``fallingcat view robot.urdf``."""

from .puppet import Puppet, Totals
from .viewer import Viewer, view

__all__ = ["Puppet", "Totals", "Viewer", "view"]
