"""Runs of Weights & Biases: offline folders with `.wandb` files, and exported CSV files."""
