"""Notices: what people hear of, and by which way."""
