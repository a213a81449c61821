"""Transfers a task's image, inputs, outputs, runs and artifacts."""
