"""Endpoints of jobs: what is open, and who may use it."""
