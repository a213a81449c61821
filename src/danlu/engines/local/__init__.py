"""Runs tasks on this machine, one shim each. `docs/architecture/engine-local.md` tells how."""

from danlu.engines.local.engine import LocalEngine
from danlu.engines.local.settings import LocalSettings, SimulatedDevices

__all__ = ["LocalEngine", "LocalSettings", "SimulatedDevices"]
