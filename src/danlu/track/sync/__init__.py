"""Upload runs and artifacts, in processes beside the training script and for `danlu sync`."""
