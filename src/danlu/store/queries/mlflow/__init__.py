"""Data and searches of MLflow's clients that runs do not cover, in SQL."""
