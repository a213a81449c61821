"""A Ray cluster of a job's own. Standard library only: it travels with the job."""
