"""TensorBoard of jobs that have ended."""
