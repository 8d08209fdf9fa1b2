"""Commands of discovery: `run` of its kinds of targets, `baseline`."""
