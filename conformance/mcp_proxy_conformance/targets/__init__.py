"""Targets: how each kind of implementation under test is started, locked and ended."""
