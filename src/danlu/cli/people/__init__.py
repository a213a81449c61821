"""Commands for access, users and projects."""
