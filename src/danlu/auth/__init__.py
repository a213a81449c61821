"""Who sent a request and what they may do: decisions only."""
