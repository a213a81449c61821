"""Starts, watches and ends tasks: gang, shim, init, and their parts."""
