"""Proxies, loaders and relays that differ from a reference in one respect: mutants and variants."""
