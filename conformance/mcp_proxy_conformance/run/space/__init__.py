"""Package of spaces: dimensions and values as data, scenarios that cover their pairs, coverage."""
