"""Proof of the checks of discovery: mutants of the wire, controls, recordings, live trials."""
