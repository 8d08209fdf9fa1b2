"""Laws of discovery, tried on generated worlds: what the source allows for any locks."""
