"""Images of jobs: pull them, unpack them, and keep them on the node."""
