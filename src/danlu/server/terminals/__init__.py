"""Shells in running tasks."""
