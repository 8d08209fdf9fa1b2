"""Package of the subjects of a run: a driven proxy, loader or relay, and a running endpoint."""
