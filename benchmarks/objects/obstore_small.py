"""Move a folder of small files with plain obstore, 16 at a time: WAY PREFIX FOLDER ENDPOINT BUCKET."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path

import obstore
from obstore.store import S3Store

NUM_PARALLEL = 16


async def move(way: str, prefix: str, folder: Path, store: S3Store) -> None:
    turns = asyncio.Semaphore(NUM_PARALLEL)

    async def put(path: Path) -> None:
        async with turns:
            await obstore.put_async(store, f"{prefix}/{path.name}", path.read_bytes())

    async def get(key: str) -> None:
        async with turns:
            data = await (await obstore.get_async(store, key)).bytes_async()
            (folder / key.rpartition("/")[2]).write_bytes(data)

    if way == "up":
        await asyncio.gather(*(put(path) for path in sorted(folder.iterdir())))
        return
    folder.mkdir(parents=True)
    keys = [item["path"] async for page in obstore.list(store, prefix, chunk_size=1000) for item in page]
    await asyncio.gather(*(get(key) for key in keys))


def main() -> None:
    way, prefix, folder, endpoint, bucket = sys.argv[1:]
    store = S3Store(
        bucket,
        endpoint=endpoint,
        access_key_id=os.environ["AWS_ACCESS_KEY_ID"],
        secret_access_key=os.environ["AWS_SECRET_ACCESS_KEY"],
        region="us-east-1",
        client_options={"allow_http": True},
    )
    began = time.monotonic()
    asyncio.run(move(way, prefix, Path(folder), store))
    print(json.dumps({"seconds": time.monotonic() - began}), flush=True)
    os._exit(0)  # obstore's threads may crash at interpreter exit; the files are complete


if __name__ == "__main__":
    main()
