"""Benchmarks of a cluster: suites, the jobs that run them, results of ranks, and reports. docs/guide/bench.md"""
