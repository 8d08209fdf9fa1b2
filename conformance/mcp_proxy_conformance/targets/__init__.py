"""Targets: starting, locking and ending each kind of implementation under test."""
