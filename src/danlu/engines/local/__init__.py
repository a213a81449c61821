"""Runs tasks on this machine, one shim each. `docs/architecture/engine-local.md` tells how."""

from danlu.engines.local.engine import LocalEngine

__all__ = ["LocalEngine"]
