"""The queries that MLflow's web pages send as GraphQL. They read only, and have the limits of `limits.py`."""
