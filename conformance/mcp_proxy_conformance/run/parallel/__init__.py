"""One run in several processes: each has targets of its own, one writes the report."""
