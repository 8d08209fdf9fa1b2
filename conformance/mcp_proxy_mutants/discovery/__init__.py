"""Package of changed reference proxies: mutants break a clause, variants conform."""
