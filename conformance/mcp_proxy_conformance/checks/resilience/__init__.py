"""The checks of the resilience profiles: what a loader owes for each of many servers."""
