"""The laws engine: generate, play, confirm, shrink, write down as a case."""
