"""What makes a PyTorch training script faster.

Each part loads on its own: `records`, `tokens`, `comm`, `precision`, `cutting`.
"""

__version__ = "0.1.0"
