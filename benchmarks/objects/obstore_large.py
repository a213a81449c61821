"""Fetch one large object to a file with plain obstore: KEY FILE ENDPOINT BUCKET."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import obstore
from obstore.store import S3Store

BLOCK_BYTES = 8 << 20


def main() -> None:
    key, file, endpoint, bucket = sys.argv[1:]
    store = S3Store(
        bucket,
        endpoint=endpoint,
        access_key_id=os.environ["AWS_ACCESS_KEY_ID"],
        secret_access_key=os.environ["AWS_SECRET_ACCESS_KEY"],
        region="us-east-1",
        client_options={"allow_http": True},
    )
    began = time.monotonic()
    with Path(file).open("wb", buffering=0) as out:
        for block in obstore.get(store, key).stream(min_chunk_size=BLOCK_BYTES):
            out.write(block)
    print(json.dumps({"seconds": time.monotonic() - began}), flush=True)
    os._exit(0)  # obstore's threads may crash at interpreter exit; the file is complete


if __name__ == "__main__":
    main()
