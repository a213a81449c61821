"""The part of OBS's SDK that AIS-Bench's scripts call, on Danlu's store."""

from __future__ import annotations

from obs import model as model
from obs.client import ObsClient

__all__ = ["ObsClient", "model"]
