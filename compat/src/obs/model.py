"""Imported by scripts together with ObsClient, but not used by them."""
