"""Decides who starts, where, and why others wait. Pure: no I/O, no clock, no randomness."""
