"""Package of the catalogue: requirements, clauses, profiles, worlds, stages and cases as data."""
