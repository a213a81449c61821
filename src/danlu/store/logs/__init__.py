"""Log bytes in segment files, and their index in SQL."""
