"""`t9k.CONFIG`: server and key, from the old configuration file if it exists, else from Danlu's settings."""

from __future__ import annotations

import os
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any, Optional

KEYS = ("api_key", "aistore_host", "asset_hub_host")


class Config(MutableMapping[str, Optional[str]]):
    """Read on first use. Changes are kept in this process only, and never saved."""

    def __init__(self) -> None:
        self._values: Optional[dict[str, Optional[str]]] = None

    def __getitem__(self, name: str) -> Optional[str]:
        return self._loaded()[_known(name)]

    def __setitem__(self, name: str, value: Optional[str]) -> None:
        self._loaded()[_known(name)] = value

    def __delitem__(self, name: str) -> None:
        self._loaded()[_known(name)] = None

    def __iter__(self) -> Iterator[str]:
        return iter(KEYS)

    def __len__(self) -> int:
        return len(KEYS)

    def _loaded(self) -> dict[str, Optional[str]]:
        if self._values is None:
            self._values = {**dict.fromkeys(KEYS), **_from_danlu(), **_from_file()}
        return self._values


def _known(name: str) -> str:
    if name not in KEYS:
        raise ValueError(f"no setting {name!r}; known: {', '.join(KEYS)}")
    return name


def _from_file() -> dict[str, Optional[str]]:
    """Return the current context of `~/.t9k/t9k-config.yaml`, or those named by T9K_CONFIG and T9K_CONFIG_CONTEXT."""
    path = Path(os.environ.get("T9K_CONFIG") or "~/.t9k/t9k-config.yaml").expanduser()
    if not path.is_file():
        return {}
    import yaml

    content: Any = yaml.safe_load(path.read_text()) or {}
    wanted = os.environ.get("T9K_CONFIG_CONTEXT") or content.get("current-context")
    context = next((one for one in content.get("contexts") or () if one.get("name") == wanted), None)
    if context is None:
        return {}
    server, prefixes = str(context.get("server") or "").rstrip("/"), context.get("prefixes") or {}
    key = (context.get("auth") or {}).get("apikey")
    hosts = {
        "aistore_host": f"{server}{prefixes.get('aistore', '')}" if server else None,
        "asset_hub_host": f"{server}{prefixes.get('asset-hub', '')}" if server else None,
    }
    return {name: value for name, value in {"api_key": key, **hosts}.items() if value}


def _from_danlu() -> dict[str, Optional[str]]:
    from danlu.client.config import load_settings

    found = load_settings()
    return {"api_key": found.api_key, "aistore_host": found.url} if found.api_key else {}


CONFIG = Config()
