"""Moves files, trees, journals and artifacts between this machine and the server. Standard library only."""
