"""Commands for the store, nodes, flavors, frameworks and rank tables."""
