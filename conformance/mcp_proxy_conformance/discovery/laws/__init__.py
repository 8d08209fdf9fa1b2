"""Laws of discovery, tried on generated worlds: rules of the source for any locks."""
