"""The checks, one folder per profile, shipped with the package and run by pytest."""
