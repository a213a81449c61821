"""Import paths of the original for its error and its models."""
