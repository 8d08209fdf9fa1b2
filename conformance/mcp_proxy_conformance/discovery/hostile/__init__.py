"""Hostile input through the same surfaces: what is sent, and what a clean answer to it is."""
