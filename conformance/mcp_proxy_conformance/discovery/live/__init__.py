"""Package for live endpoints, where nothing can be set up: surveys, a budget, and the bench."""
