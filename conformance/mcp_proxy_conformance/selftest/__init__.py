"""Package of the selftest: checks must fail on mutants (broken targets) and pass on variants."""
