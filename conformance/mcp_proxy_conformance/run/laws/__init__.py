"""Package of the laws engine: examples are generated, tried, confirmed, shrunk and written."""
