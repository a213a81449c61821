"""Parts of benchmarks/together.py."""
