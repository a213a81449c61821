"""Artifacts by content: how files are cut into chunks, the manifest that lists them, and how both travel.

Standard library only: the same code sends from a training machine, from a node beside a job, and from the client.
The formats and the protocol are in `docs/formats/artifacts.md`.
"""
