"""Move a folder of small files with boto3 in 16 threads: WAY PREFIX FOLDER ENDPOINT BUCKET."""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import boto3
from botocore.config import Config

NUM_PARALLEL = 16


def main() -> None:
    way, prefix, name, endpoint, bucket = sys.argv[1:]
    folder = Path(name)
    config = Config(
        max_pool_connections=NUM_PARALLEL,
        retries={"mode": "standard", "total_max_attempts": 10},  # rclone sometimes answers 500
        s3={"addressing_style": "path"},
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", config=config)

    def put(path: Path) -> None:
        client.put_object(Bucket=bucket, Key=f"{prefix}/{path.name}", Body=path.read_bytes())

    def get(key: str) -> None:
        data = client.get_object(Bucket=bucket, Key=key)["Body"].read()
        (folder / key.rpartition("/")[2]).write_bytes(data)

    began = time.monotonic()
    with ThreadPoolExecutor(NUM_PARALLEL) as pool:
        if way == "up":
            list(pool.map(put, sorted(folder.iterdir())))
        else:
            folder.mkdir(parents=True)
            pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=f"{prefix}/")
            list(pool.map(get, [item["Key"] for page in pages for item in page.get("Contents", [])]))
    print(json.dumps({"seconds": time.monotonic() - began}))


if __name__ == "__main__":
    main()
