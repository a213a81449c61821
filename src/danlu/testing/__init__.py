"""What tests are made of, for Danlu's own and for those of plugins."""
