"""Benchmarks of a cluster: suites, the jobs that run them, what every rank leaves, and reports. docs/guide/bench.md"""
