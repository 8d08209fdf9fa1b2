"""One run in several processes: each has its own targets, one writes the report."""
