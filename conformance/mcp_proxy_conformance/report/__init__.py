"""Package of reports: the JSON document of a run, and its renderings."""
