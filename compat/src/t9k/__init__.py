"""`t9k` for scripts written for TensorStack's experiment management: `from t9k import em` works on Danlu."""

from __future__ import annotations

from t9k.config import CONFIG

__all__ = ["CONFIG"]
