"""Requirements, clauses, profiles, worlds, stages and cases as data."""
