"""Scripts import this beside ObsClient, and use nothing of it."""
