"""Package of the three subjects: a driven proxy, a loader of many servers, a running endpoint."""
