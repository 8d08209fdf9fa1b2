"""A live endpoint: nothing can be set up there; it is looked at, and its answers are compared."""
