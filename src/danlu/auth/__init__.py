"""Who sent a request and what they may do. Decisions only: no database, no HTTP."""
