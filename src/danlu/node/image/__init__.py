"""Images of jobs: fetching their files, unpacking them, and keeping them on the node."""
