"""Package of the selftest: mutants that the checks must convict, variants they must acquit."""
