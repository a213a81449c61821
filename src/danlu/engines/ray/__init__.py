"""Runs tasks on a Ray cluster. See `docs/architecture/engine-ray.md`. Only `driver` and `agent` import Ray."""

from danlu.engines.ray.engine import RayEngine

__all__ = ["RayEngine"]
