"""`Params`: the hyperparameters of a run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, Callable, Optional


class Params(MutableMapping[str, Any]):
    """A mapping that is saved to the run's file on every change. `params.epochs = 10` works as well."""

    _upload: Callable[[dict[str, Any]], None]
    _values: dict[str, Any]

    def __init__(
        self, upload: Callable[[dict[str, Any]], None], init_hparams: Optional[Mapping[str, Any]] = None
    ) -> None:
        object.__setattr__(self, "_upload", upload)
        object.__setattr__(self, "_values", {})
        if init_hparams:
            self.update(init_hparams)

    def update(self, new_params: Mapping[str, Any], override: bool = True) -> None:  # type: ignore[override]
        """Set values; with `override=False` only those that are missing."""
        for name, value in new_params.items():
            _check(name, value)
        for name, value in new_params.items():
            if override or name not in self._values:
                self._values[name] = value
        self._upload(self.as_dict())

    def parse(self, dist_tf_strategy: Any = None, dist_torch_model: Any = None, dist_hvd: Any = None) -> None:
        """Record how training is distributed: `api`, `policy` and `config`."""
        if dist_tf_strategy is not None:
            self.update(_tensorflow(dist_tf_strategy))
        if dist_torch_model is not None:
            self.update(_torch(dist_torch_model))
        if dist_hvd is not None:
            self.update({"api": str(getattr(dist_hvd, "__name__", "horovod")), "config": {"worker": dist_hvd.size()}})

    def as_dict(self) -> dict[str, Any]:
        return dict(self._values)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.update({name: value})

    def __delitem__(self, name: str) -> None:
        del self._values[name]
        self._upload(self.as_dict())

    def __getattr__(self, name: str) -> Any:
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(self._values)


def _check(name: object, value: object) -> None:
    try:
        json.dumps({name: value})
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"hyperparameter {name!r}: JSON cannot hold its value: {error}") from error


def _tensorflow(strategy: Any) -> dict[str, Any]:
    config = {"worker": int(strategy.num_replicas_in_sync)}
    return {"api": "tf.distribute", "policy": type(strategy).__name__, "config": config}


def _torch(model: Any) -> dict[str, Any]:
    from torch import distributed

    config = {"worker": distributed.get_world_size(), "backend": distributed.get_backend()}
    return {"api": "torch.distributed", "policy": type(model).__name__, "config": config}
