"""Targets that are proxies: starting, locking and ending them, by the adapter of each kind."""
