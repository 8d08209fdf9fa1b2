"""Proxies and loaders that are like the reference but for one thing: mutants, and fair variants."""
