"""Test support: the contract of engines as tests, and servers, machines and load for tests. Needs pytest."""
