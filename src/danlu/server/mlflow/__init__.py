"""A door for MLflow's own clients at /compat/mlflow. Experiments are folders of runs; the rest is what it is here."""
