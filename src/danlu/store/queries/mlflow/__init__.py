"""What MLflow's clients keep beside runs, and their searches, in SQL."""
