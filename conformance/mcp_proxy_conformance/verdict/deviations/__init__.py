"""Deviations: failures that a target's authors know, kept in their repository until a date."""
