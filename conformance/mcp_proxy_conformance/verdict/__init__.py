"""What was found: results, findings, the outcome of a run, known failures, redaction."""
