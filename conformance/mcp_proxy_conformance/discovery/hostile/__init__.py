"""Package of hostile input: its tools and payloads, and the test for a clean answer."""
