"""Package for live endpoints, where no lock can be set: a request budget, surveys of answers."""
