"""Data classes of jobs, runs, models and nodes with their validation. States and reasons are tables."""
