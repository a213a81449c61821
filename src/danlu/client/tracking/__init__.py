"""Runs, artifacts, models and lineage."""
