"""What authors of cases and stages of discovery are told by `lint` and `explain`."""
