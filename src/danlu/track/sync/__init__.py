"""What sends runs and artifacts to the server, in processes beside the training script, and for `danlu sync`."""
