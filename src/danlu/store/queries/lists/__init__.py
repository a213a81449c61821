"""Filters and order of lists of runs, in SQL."""
