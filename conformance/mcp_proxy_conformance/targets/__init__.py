"""Package of proxies as targets: starting, locking and ending them, by the adapter of each kind."""
