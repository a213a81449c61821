"""`tikit.client.Client`: TI-ONE's calls on Danlu."""

from __future__ import annotations

from typing import Any, Callable, NoReturn

from tikit.logs import Logs
from tikit.metrics import Metrics
from tikit.repository import Repository
from tikit.session import refuse
from tikit.storage import Storage
from tikit.training import Training

ELSEWHERE = {
    "dataset": "there are no data sets of labels here; data is in buckets",
    "notebook": "a notebook here is a job with the endpoint jupyter",
    "model_service": "models are not served here; run a job with the model's environment",
    "service_": "models are not served here; run a job with the model's environment",
    "batch_task": "a batch task here is a training task",
    "accelerate": "danlu-accel makes training faster; trained models are not changed",
    "model_acc": "danlu-accel makes training faster; trained models are not changed",
    "optimized_model": "danlu-accel makes training faster; trained models are not changed",
    "taiji": "there are no models of Taiji here",
    "api_configs": "models are not served here",
}
"""Word in the name of an unsupported call -> alternative to suggest."""


class Client(Storage, Training, Logs, Metrics, Repository):
    """TI-ONE's calls on Danlu.

        client = Client("your_secret_id", "your_secret_key", "ap-guangzhou")
        client.upload_to_cos("data", "demo-bucket", "data/")

    Inside a job it uses the job's identity and ignores these arguments. Elsewhere, it uses a Danlu key given as two
    halves in `secret_id` and `secret_key`, else the login of `danlu login`.
    """

    def get_client_info(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {
            "secret_id": self._secret_id,
            "secret_key": self._secret_key,
            "region": self._region,
            "tione_client": self._danlu,
        }

    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        """Return a function that raises an error with the alternative, for unsupported calls of the original."""
        told = next((told for word, told in ELSEWHERE.items() if word in name), None)
        if told is None or name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

        def call(*_args: Any, **_kwargs: Any) -> NoReturn:
            raise refuse(f"{name}: {told}", "UnsupportedOperation")

        return call
