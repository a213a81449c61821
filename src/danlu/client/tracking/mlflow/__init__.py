"""Import runs of MLflow from a folder `mlruns`, a SQLite file, or a server."""

from danlu.client.tracking.mlflow.importing import Imported, import_mlflow

__all__ = ["Imported", "import_mlflow"]
