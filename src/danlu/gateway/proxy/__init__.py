"""The reverse proxy to ports of running jobs, each at a host name of its own."""
