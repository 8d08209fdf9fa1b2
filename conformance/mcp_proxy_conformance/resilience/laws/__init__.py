"""Package of laws of loads: what holds for servers with any scripts, tried on generated ones."""
