"""The catalogue for authors of requirements, cases and checks, and the faults in their files."""
