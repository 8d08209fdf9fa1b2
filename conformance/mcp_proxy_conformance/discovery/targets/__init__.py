"""Proxies as targets: adapters, and one that is started in its world."""
