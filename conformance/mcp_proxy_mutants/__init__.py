"""Proxies and loaders that differ from the reference in one respect: mutants, and fair variants."""
