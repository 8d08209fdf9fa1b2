"""Package of the engine: a run's request, its checks, their verdicts, and its report."""
