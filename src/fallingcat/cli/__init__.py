"""The command ``fallingcat``: ``inspect FILE`` shows what is in a robot file, ``certify FILE`` proves its equations.

Exit codes: 0 all is well, 1 something that should not happen did, 2 a bad file or a bad option; errors are one
line on stderr.  Nothing that a file says reaches the terminal unescaped.  Heavy imports are inside the functions, so that
`fallingcat --help` answers at once.
"""

from .app import app, main
from .certify_file import certify
from .inspect_file import inspect, report
from .text import plain

__all__ = ["app", "certify", "inspect", "main", "plain", "report"]
