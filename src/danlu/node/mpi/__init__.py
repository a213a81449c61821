"""Replaces sshd, so that mpirun reaches the other tasks. Shipped with the plan."""
