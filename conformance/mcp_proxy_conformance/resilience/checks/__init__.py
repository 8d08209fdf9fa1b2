"""Checks of the resilience profiles: a loader's obligations for each of many servers."""
