"""What lists of runs are filtered and sorted by, in SQL."""
