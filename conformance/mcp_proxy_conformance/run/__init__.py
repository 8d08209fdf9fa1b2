"""The engine: what is asked for, the checks that run, their verdicts, and the report of them."""
