"""A robot in the browser, moved by hand: ``fc.live.view(model)``, ``fallingcat view robot.urdf``."""

from .puppet import Figures, Puppet
from .viewer import Viewer, view

__all__ = ["Figures", "Puppet", "Viewer", "view"]
