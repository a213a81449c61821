"""Runs of Weights & Biases: offline folders with `.wandb` files, and tables that were exported as CSV."""
