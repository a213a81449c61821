"""Stands in for sshd, so that mpirun reaches the other tasks. Travels in the plan."""
