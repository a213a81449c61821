"""The W&B side: an artifact with one file, offline. Reads the file for its MD5 and copies it; sends nothing.

wandb_peer.py FOLDER FILE...     logs the files in sequence as versions; prints the seconds of each as JSON
"""

from __future__ import annotations

import json
import os
import sys
import time


def main() -> None:
    folder, *paths = sys.argv[1:]
    os.environ.update(
        WANDB_MODE="offline",
        WANDB_DIR=folder,
        WANDB_CACHE_DIR=f"{folder}/cache",
        WANDB_DATA_DIR=f"{folder}/data",
        WANDB_ARTIFACT_DIR=f"{folder}/artifacts",
        WANDB_SILENT="true",
    )
    import wandb

    run = wandb.init(project="bench")
    seconds = []
    for path in paths:
        began = time.perf_counter()
        artifact = wandb.Artifact("checkpoint", type="model")
        artifact.add_file(path, name="model.pt")
        run.log_artifact(artifact)
        seconds.append(time.perf_counter() - began)
    began = time.perf_counter()
    run.finish()
    print(json.dumps({"seconds": seconds, "finish_seconds": time.perf_counter() - began}))


if __name__ == "__main__":
    main()
