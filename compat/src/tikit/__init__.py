"""`tikit` for scripts written for TI-ONE: `from tikit.client import Client` works on Danlu."""

from __future__ import annotations

from typing import Any

__version__ = "1.9.5"
"""The version of the original whose calls are supported."""

_OF_A_CLIENT = ("describe_cos_buckets", "upload_to_cos", "describe_cos_path", "delete_cos_path", "download_from_cos")


def __getattr__(name: str) -> Any:
    """Return `tikit.Client`, or a call of it as a module function like in the original, with Danlu's own settings."""
    if name != "Client" and name not in _OF_A_CLIENT:
        raise AttributeError(f"module 'tikit' has no attribute {name!r}")
    from tikit.client import Client

    return Client if name == "Client" else getattr(Client(), name)
