"""All tables: code that works on the whole database imports this, so that none is missing."""

from __future__ import annotations

from danlu.store.sql import (  # noqa: F401  each adds its tables to `Base.metadata`
    artifact_tables,
    audit_tables,
    catalog_tables,
    endpoint_tables,
    favourite_tables,
    flow_tables,
    mlflow_tables,
    mlflow_trace_tables,
    model_tables,
    monitoring_tables,
    node_tables,
    pack_tables,
    rights_tables,
    run_tables,
    ssh_key_tables,
    template_tables,
    view_tables,
)
from danlu.store.sql.tables import Base

METADATA = Base.metadata
