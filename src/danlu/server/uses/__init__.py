"""When jobs were last used, and the end of idle ones."""
