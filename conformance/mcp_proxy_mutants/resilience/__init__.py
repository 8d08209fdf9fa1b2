"""Package of changed loaders: mutants, which break a clause, and variants, which conform."""
