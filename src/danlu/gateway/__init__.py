"""Ways into running tasks."""
