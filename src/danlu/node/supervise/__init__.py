"""Starts, watches and ends one task: gang, shim, init, and what they use of the machine."""
