"""Import path of the original for its error."""
