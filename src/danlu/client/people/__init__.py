"""Users, projects, quotas and keys."""
