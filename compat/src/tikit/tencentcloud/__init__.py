"""Paths of the original below which scripts find its error and its models."""
