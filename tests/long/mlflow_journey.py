"""What a user of MLflow does, with MLflow's own client. Prints what it found as one line of JSON."""

from __future__ import annotations

import json
import math
import sys
import tempfile
from pathlib import Path
from typing import Any

import mlflow  # type: ignore[import-not-found]


def main() -> None:
    found: dict[str, Any] = {}
    client = mlflow.MlflowClient()
    mlflow.set_experiment("vision/base")
    with mlflow.start_run(run_name="first") as run, tempfile.TemporaryDirectory() as folder:
        mlflow.log_params({"lr": 0.01, "model": "cnn", "deep": True})
        for step in range(50):
            mlflow.log_metric("val/acc", step / 50, step=step)
        mlflow.log_metrics({"loss": math.nan, "speed": math.inf})
        mlflow.set_tags({"team": "vision", "mlflow.note.content": "a note"})
        Path(folder, "inner").mkdir()
        Path(folder, "inner", "w.bin").write_bytes(b"w" * 100_000)
        mlflow.log_artifacts(folder, "model")
        mlflow.log_dict({"a": 1}, "config.json")
        with mlflow.start_run(run_name="inner", nested=True) as inner:
            mlflow.log_metric("x", 1)
    run_id, experiment_id = run.info.run_id, run.info.experiment_id
    read = client.get_run(run_id)
    found["run"] = [
        read.info.status,
        read.data.params,
        read.data.metrics["val/acc"],
        math.isnan(read.data.metrics["loss"]),
    ]
    found["history"] = [point.value for point in client.get_metric_history(run_id, "val/acc")]
    found["files"] = sorted(one.path for one in client.list_artifacts(run_id))
    fetched = mlflow.artifacts.download_artifacts(run_id=run_id, artifact_path="model")
    found["bytes"] = Path(fetched, "inner", "w.bin").stat().st_size
    searched = client.search_runs([experiment_id], "metrics.`val/acc` > 0.5 and params.model = 'cnn'", max_results=10)
    found["searched"] = [one.info.run_name for one in searched]
    children = client.search_runs([experiment_id], f"tags.mlflow.parentRunId = '{run_id}'")
    found["children"] = [one.info.run_id for one in children] == [inner.info.run_id]
    model = client.create_logged_model(experiment_id=experiment_id, name="net", source_run_id=run_id)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "MLmodel").write_text("flavors: {}\n")
        client.log_model_artifacts(model.model_id, folder)
    client.finalize_logged_model(model.model_id, "READY")
    version = mlflow.register_model(f"models:/{model.model_id}", "net")
    client.set_registered_model_alias("net", "champion", version.version)
    found["version"] = client.get_model_version_by_alias("net", "champion").version
    fetched = mlflow.artifacts.download_artifacts("models:/net@champion")
    found["model file"] = Path(fetched, "MLmodel").read_text()
    found["trace"] = traced(client, experiment_id)
    client.delete_experiment(experiment_id)
    found["deleted"] = [one.name for one in client.search_experiments(view_type=mlflow.entities.ViewType.DELETED_ONLY)]
    json.dump(found, sys.stdout)


def traced(client: Any, experiment_id: str) -> list[Any]:
    """Log a trace, find it, tag it and delete it."""
    with mlflow.start_span("predict") as span:
        span.set_inputs({"x": 1})
        with mlflow.start_span("look up"):
            pass
    mlflow.flush_trace_async_logging()
    client.set_trace_tag(span.trace_id, "team", "vision")
    [trace] = client.search_traces(locations=[experiment_id], filter_string="tags.team = 'vision'")
    is_same = client.get_trace(span.trace_id).info.trace_id == trace.info.trace_id == span.trace_id
    names = [one.name for one in trace.data.spans]
    num_deleted = client.delete_traces(experiment_id, trace_ids=[span.trace_id])
    return [is_same, names, trace.info.state.value, num_deleted, len(client.search_traces(locations=[experiment_id]))]


main()
