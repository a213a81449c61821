"""Streaming responses: one look at the database serves all followers of the same thing."""
