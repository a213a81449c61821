"""`ais-bench-stubs test|stop`: AIS-Bench's stubs for ModelArts, with Danlu as the cluster."""
