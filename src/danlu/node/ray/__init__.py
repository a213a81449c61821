"""A Ray cluster for one job. Standard library only: shipped with the job."""
