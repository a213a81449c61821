"""Access to running jobs, in SQL: endpoints, SSH keys and last uses."""
