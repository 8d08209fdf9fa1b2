"""Package of the loading specification: provoked faults, reported outcomes, laws of loads."""
