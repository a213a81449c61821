"""Measures what a task and its devices use."""
