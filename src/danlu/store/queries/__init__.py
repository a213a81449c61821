"""Queries, one file per noun. Callers own the transaction."""
