"""Package of reports: the document of a run, its JSON file, and its renderings."""
