"""The HTTP server. `app` is the only module that wires everything."""
