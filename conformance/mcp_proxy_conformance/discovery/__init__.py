"""Package of the discovery specification: its requests, answers, listings, texts and laws."""
