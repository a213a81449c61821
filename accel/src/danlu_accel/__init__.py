"""Faster PyTorch training: data loading, communication and precision.

Each part can be imported alone: `records`, `tokens`, `samples`, `comm`, `precision`, `cutting`.
"""

__version__ = "0.1.0"
