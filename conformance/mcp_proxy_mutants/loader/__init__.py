"""Changed loaders: those that break a clause, and fair ones that must not be accused."""
