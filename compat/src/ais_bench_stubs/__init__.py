"""`ais-bench-stubs test|stop`: AIS-Bench's stubs for ModelArts, running on Danlu."""
