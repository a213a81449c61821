"""Where the original has its error."""
