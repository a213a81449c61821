"""The SSH gateway: shells, commands, files and ports of running jobs, without an account on any host."""
