"""Runs of MLflow, read where they are and brought to Danlu: a folder `mlruns`, a SQLite file, or a server."""

from danlu.client.tracking.mlflow.importing import Imported, import_mlflow

__all__ = ["Imported", "import_mlflow"]
