"""Notices: which events users are told of, and how."""
