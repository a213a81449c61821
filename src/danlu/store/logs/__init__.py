"""Logs in segment files, with an index in SQL."""
