"""Traces in the shape of MLflow's messages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from sqlalchemy.orm import Session

from danlu.server.mlflow.experiments import id_of
from danlu.store.queries.mlflow import records, traces
from danlu.store.sql.mlflow_trace_tables import TraceRow

IN_PROGRESS = "IN_PROGRESS"
_UNSPECIFIED = "UNSPECIFIED"
STATUSES = {
    **{one: one for one in ("OK", "ERROR", IN_PROGRESS)},
    "TRACE_STATUS_UNSPECIFIED": _UNSPECIFIED,
    "STATE_UNSPECIFIED": _UNSPECIFIED,
}
"""As clients send it -> as it is stored."""

LOCATION = "mlflow.artifactLocation"
"""Tag that tells clients where the spans are."""

INPUTS, OUTPUTS = "mlflow.traceInputs", "mlflow.traceOutputs"
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def info_out(session: Session, row: TraceRow) -> dict[str, Any]:
    return infos_out(session, [row])[0]


def infos_out(session: Session, rows: Sequence[TraceRow]) -> list[dict[str, Any]]:
    """As clients before 3.0 read them."""
    return [
        {
            "request_id": row.id,
            "experiment_id": experiment_id,
            "timestamp_ms": row.began_ms,
            "execution_time_ms": row.took_ms or 0,
            "status": f"TRACE_STATUS_{_UNSPECIFIED}" if row.status == _UNSPECIFIED else row.status,
            "request_metadata": _pairs(metadata),
            "tags": _pairs(tags),
        }
        for row, experiment_id, tags, metadata in _loaded(session, rows)
    ]


def whole_out(session: Session, row: TraceRow) -> dict[str, Any]:
    """As clients from 3.0 read it."""
    [(_, experiment_id, tags, metadata)] = _loaded(session, [row])
    info = {
        "trace_id": row.id,
        "trace_location": {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": experiment_id}},
        "request_time": _time_out(row.began_ms),
        "state": f"STATE_{_UNSPECIFIED}" if row.status == _UNSPECIFIED else row.status,
        "trace_metadata": metadata,
        "tags": tags,
    }
    if row.took_ms is not None:
        info["execution_duration"] = f"{row.took_ms // 1000}.{row.took_ms % 1000:03}s"
    previews = {"request_preview": metadata.get(INPUTS), "response_preview": metadata.get(OUTPUTS)}
    return {"trace": {"trace_info": info | {key: value for key, value in previews.items() if value is not None}}}


def _loaded(session: Session, rows: Sequence[TraceRow]) -> list[tuple[TraceRow, str, dict[str, str], dict[str, str]]]:
    """Each trace with the id of its experiment, its tags and its metadata."""
    numbers = [row.number for row in rows]
    tags = traces.texts_of(session, numbers, traces.TAG)
    metadata = traces.texts_of(session, numbers, traces.METADATA)
    found = []
    for row in rows:
        experiment = records.experiment(session, row.project_id, row.experiment)
        assert experiment is not None  # a trace is deleted with its experiment
        here = {**tags[row.number], LOCATION: f"mlflow-artifacts:/traces/{row.id}"}
        found.append((row, id_of(experiment), here, metadata[row.number]))
    return found


def _time_out(milliseconds: int) -> str:
    moment = _EPOCH + timedelta(milliseconds=milliseconds)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03}Z"


def _pairs(values: dict[str, str]) -> list[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in sorted(values.items())]
