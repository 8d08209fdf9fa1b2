"""Laws of a load, tried on generated servers: what the source allows for any script."""
