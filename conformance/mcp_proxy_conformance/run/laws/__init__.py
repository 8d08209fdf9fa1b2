"""The laws engine: generate examples, play them, confirm breaches, shrink them, write cases."""
