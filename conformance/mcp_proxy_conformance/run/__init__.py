"""The engine: the request of a run, the checks it runs, their verdicts, and its report."""
