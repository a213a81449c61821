"""Intercept calls of other libraries, and choose the run to log to."""
