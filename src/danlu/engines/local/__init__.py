"""Runs tasks on this machine, one shim per task. See `docs/architecture/engine-local.md`."""

from danlu.engines.local.engine import LocalEngine

__all__ = ["LocalEngine"]
