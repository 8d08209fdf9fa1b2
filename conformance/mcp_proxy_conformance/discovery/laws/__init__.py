"""Package of the laws of discovery: properties of answers in any world, tried on generated ones."""
