"""For authors of engines: the contract as tests, and a small store to stage from. Needs pytest."""
