"""What makes a PyTorch training script faster. Each part loads on its own: `records`, `comm`, `precision`."""

__version__ = "0.1.0"
