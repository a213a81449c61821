"""Many small files in one request."""
