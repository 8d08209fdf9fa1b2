"""Package for authors: pages about the catalogue, and the linter of its data files."""
