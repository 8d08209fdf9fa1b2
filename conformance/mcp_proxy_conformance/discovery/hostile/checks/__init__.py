"""Checks of the robustness profile: answers to hostile input."""
