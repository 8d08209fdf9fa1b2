"""The gate of a CI: one run by named inputs, every report of it, and what the job is told."""

from __future__ import annotations

from mcp_proxy_conformance.gate.inputs import BadInput, Inputs, run_words
from mcp_proxy_conformance.gate.job import Job, files_of, outputs_of

__all__ = ["BadInput", "Inputs", "Job", "files_of", "outputs_of", "run_words"]
