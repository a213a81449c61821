"""Runs tasks on a Ray cluster. `docs/architecture/engine-ray.md` tells how. Only `driver` and `agent` import Ray."""

from danlu.engines.ray.engine import RayEngine

__all__ = ["RayEngine"]
