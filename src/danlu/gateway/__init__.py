"""Access to running tasks: shells, SSH, and a proxy to their ports."""
