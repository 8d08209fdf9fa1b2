"""The checks, one folder a profile; shipped with the package and run by pytest."""
