"""Runs, artifacts, models and the data flow between them."""
