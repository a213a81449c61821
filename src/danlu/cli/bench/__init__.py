"""Commands of `danlu bench`."""
