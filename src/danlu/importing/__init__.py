"""Runs of other trackers: their files, read into journals. Needs nothing but Python.

What is read was written by others: every length, path and number is checked before it is believed.
"""
