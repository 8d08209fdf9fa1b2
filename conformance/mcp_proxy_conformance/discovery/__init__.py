"""The discovery specification's own nouns: surface names, answers, listings, remediation texts."""
