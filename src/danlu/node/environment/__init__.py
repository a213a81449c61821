"""Packages of jobs: environments that are made once by content, and shared."""
