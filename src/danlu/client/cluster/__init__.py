"""Flavors and frameworks."""
