"""Ways into running jobs, in SQL."""
