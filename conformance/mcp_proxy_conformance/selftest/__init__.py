"""Proof of the checks: mutants they must convict, variants they must acquit."""
