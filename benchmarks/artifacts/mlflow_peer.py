"""The MLflow side: `log_artifact` through its HTTP server, which stores files in a folder. Sends all bytes.

mlflow_peer.py URL FILE...     logs the files in sequence, each to its own run; prints their seconds as JSON
"""

from __future__ import annotations

import json
import sys
import time


def main() -> None:
    url, *paths = sys.argv[1:]
    import mlflow

    mlflow.set_tracking_uri(url)
    mlflow.set_experiment("bench")
    seconds = []
    for path in paths:
        with mlflow.start_run():
            began = time.perf_counter()
            mlflow.log_artifact(path)
            seconds.append(time.perf_counter() - began)
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main()
