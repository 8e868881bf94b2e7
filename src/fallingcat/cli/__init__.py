"""The command ``fallingcat``: ``inspect FILE`` shows what is in a robot file, ``certify FILE`` checks its equations,
``export FILE`` writes functions of it as source code, ``derive FILE`` its equations as closed forms, ``bench`` times
its kernels, ``cache`` keeps them, ``study`` runs published experiments again.

Exit codes: 0 all is well, 1 something that should not happen did, 2 a bad file or a bad option; errors are one
line on stderr.  Nothing that a file says reaches the terminal unescaped.  Heavy imports are inside the functions, so
that ``fallingcat --help`` answers at once.
"""

from .app import app, main
from .bench_file import bench
from .cache_files import cache_clear, cache_info
from .certify_file import certify
from .derive_file import derive
from .drop_cat import drop
from .export_file import export
from .gait_file import gait
from .inspect_file import inspect, report
from .report_file import report_robot
from .reproduce_all import reproduce
from .study_run import study_list, study_run
from .sweep_run import sweep
from .text import plain
from .view_file import view

__all__ = [
    "app",
    "bench",
    "cache_clear",
    "cache_info",
    "certify",
    "derive",
    "drop",
    "export",
    "gait",
    "inspect",
    "main",
    "plain",
    "report",
    "report_robot",
    "reproduce",
    "study_list",
    "study_run",
    "sweep",
    "view",
]
