"""Traces of calls of an application, which MLflow's clients log to an experiment."""
