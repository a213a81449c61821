"""Read runs of other trackers from their files, and write them as journals. Standard library only.

The files are untrusted: every length, path and number is validated.
"""
