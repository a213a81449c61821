"""Many blobs in one body."""
