"""The checks, a folder for each kind of behaviour judged, shipped and run by pytest."""
