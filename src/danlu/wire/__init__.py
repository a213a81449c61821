"""HTTP bodies, one file per noun, shared by client and server."""
