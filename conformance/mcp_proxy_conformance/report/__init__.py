"""Reports: the JSON document of a run, and what is rendered from it."""
