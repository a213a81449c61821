"""Packages of jobs: environments, each identified by its content, built once and shared."""
