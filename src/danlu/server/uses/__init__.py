"""When jobs were last used, and the end of those that nobody uses."""
