"""Proof of the checks: counterexamples they must convict, variants they must acquit."""
