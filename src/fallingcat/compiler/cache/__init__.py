"""Machine code between runs: the files, and what leads to them without tracing."""
