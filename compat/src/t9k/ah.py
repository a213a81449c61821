"""`t9k.ah`, AssetHub. Danlu has no assets with branches and commits: each call raises an error with the alternative."""

from __future__ import annotations

from typing import Any, Callable

INSTEAD = {
    "create": "`danlu.track.artifact(name)` makes an artifact, `danlu.Client().models` registers a model",
    "get": "`danlu.track.load_artifact(name)` loads a version",
    "list": "`danlu artifacts list` and `danlu models list` list them",
    "update": "`danlu artifacts label` sets labels",
    "delete": "`danlu artifacts delete` deletes versions",
    "commit": "`danlu.track.artifact(name).add_file(path)` makes the next version",
    "merge": "versions are numbered; there are no branches to merge",
    "reset": "a version never changes; there is nothing to reset",
    "download": "`danlu artifacts download` fetches the files of a version",
    "login": "`t9k.em.login()` or `danlu login` signs in",
    "logout": "`danlu logout` signs out",
}
__all__ = list(INSTEAD)


def __getattr__(name: str) -> Callable[..., Any]:
    if name not in INSTEAD:
        raise AttributeError(f"module 't9k.ah' has no attribute {name!r}")

    def missing(*_: Any, **__: Any) -> Any:
        raise NotImplementedError(f"t9k.ah.{name} is not there on Danlu: {INSTEAD[name]}")

    return missing
