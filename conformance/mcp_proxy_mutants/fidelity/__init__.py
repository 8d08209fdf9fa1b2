"""Package of changed reference relays: mutants break a clause, variants conform."""
