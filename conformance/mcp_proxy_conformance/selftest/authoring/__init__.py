"""What authors of requirements, cases and checks are told: the catalogue, and faults in it."""
