"""Package of the laws engine: generated examples on which properties of a target are tried."""
