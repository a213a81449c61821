"""Examples: jobs to read and to run, each with what it needs."""
