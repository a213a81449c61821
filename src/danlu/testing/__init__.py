"""For those who write an engine: the contract as tests, and a small store for them to stage from. Needs pytest."""
