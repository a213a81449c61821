"""An API for MLflow's own clients at /compat/mlflow. Experiments are folders of runs; all else maps to Danlu's own."""
