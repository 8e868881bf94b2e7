"""Command line ``fallingcat``.

``inspect FILE`` shows the content of a robot file, ``certify FILE`` checks its equations, ``export FILE`` writes
functions of it as source code, ``derive FILE`` its equations as closed forms, ``bench`` times its kernels, ``cache``
manages stored machine code, ``study`` repeats published experiments.

Exit codes: 0 success, 1 an internal error or a failed check, 2 a bad file or a bad option; errors are one line on
stderr.  Text of files is escaped before it reaches the terminal.  Heavy imports are inside the functions, so that
``fallingcat --help`` is fast.
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
from .learn_walk import learn_walk, play
from .report_file import report_robot
from .reproduce_all import reproduce
from .righting_atlas import atlas
from .study_run import study_list, study_run
from .sweep_run import sweep
from .text import plain
from .view_file import view

__all__ = [
    "app",
    "atlas",
    "bench",
    "cache_clear",
    "cache_info",
    "certify",
    "derive",
    "drop",
    "export",
    "gait",
    "inspect",
    "learn_walk",
    "main",
    "plain",
    "play",
    "report",
    "report_robot",
    "reproduce",
    "study_list",
    "study_run",
    "sweep",
    "view",
]
