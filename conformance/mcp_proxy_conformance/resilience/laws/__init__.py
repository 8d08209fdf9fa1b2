"""Laws of a load, tried on generated servers: the allowed outcomes of any script."""
