"""The HTTP server. `app` is the one place that wires everything."""
