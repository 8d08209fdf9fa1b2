"""Package of deviations: failures that a target's authors know, excused until a date."""
