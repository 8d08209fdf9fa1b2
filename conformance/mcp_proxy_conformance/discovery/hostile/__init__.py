"""Hostile input through the same surfaces: its payloads, and the test for a clean answer."""
