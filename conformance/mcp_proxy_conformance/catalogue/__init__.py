"""What is demanded, as data: requirements, clauses, profiles, worlds, stages, cases."""
