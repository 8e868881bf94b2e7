"""Results of runs: trajectories, ledgers, files, tables and pages."""
