"""Package of verdicts: results, findings, the outcome of a run, known failures, redaction."""
