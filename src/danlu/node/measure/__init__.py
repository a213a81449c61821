"""Measures the resource usage of tasks and devices."""
