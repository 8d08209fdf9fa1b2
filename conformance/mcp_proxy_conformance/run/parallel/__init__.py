"""Package of runs in several processes: each has its own targets, one writes the report."""
