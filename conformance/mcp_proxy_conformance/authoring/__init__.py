"""Package for authors of clauses and cases: pages on the catalogue, linter of its data files."""
