"""Parts of the communication lab."""
