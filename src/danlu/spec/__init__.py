"""The nouns as frozen data plus their rules. States and reasons are tables."""
