"""Run one loader of tokens in this process: a warm-up epoch, then epochs for at least 5 s. Prints one JSON line."""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SEQUENCE, BATCH = 2049, 16
SECONDS = 5.0
Epoch = Callable[[], Iterator[Any]]


def sequences(data: Path) -> Iterator[Any]:
    """Yield the tokens of the shards by sequence, for the libraries to pack."""
    import numpy as np

    for path in sorted((data / "danlu").glob("*.bin")):
        tokens = np.memmap(path, np.uint16, "r")
        for begin in range(0, len(tokens) - SEQUENCE + 1, SEQUENCE):
            yield np.array(tokens[begin : begin + SEQUENCE])


def prepare_danlu(data: Path, num_tokens: int) -> None:
    if (data / "danlu" / "train.tokens").is_file():
        return
    import numpy as np

    from danlu_accel.tokens import pack_tokens

    random = np.random.default_rng(0)

    def documents() -> Iterator[Any]:
        left = num_tokens
        while left > 0:
            length = int(min(random.lognormal(6, 1) + 1, SEQUENCE))
            yield random.integers(0, 50_000, length, np.uint16)
            left -= length

    pack_tokens(data / "danlu" / "train", documents(), shard_megabytes=64)


def open_danlu(data: Path, *, split: bool = True) -> Epoch:
    from danlu_accel.records import LoaderOptions
    from danlu_accel.tokens import Packing, TokenLoader

    packing = Packing(SEQUENCE, split_documents=split)
    path = data / "danlu" / "train.tokens"
    loader = TokenLoader(path, packing, batch_size=BATCH, options=LoaderOptions(threads=2))

    def epoch() -> Iterator[Any]:
        for batch in loader:
            yield batch.tokens

    return epoch


def open_memmap(data: Path) -> Epoch:
    import numpy as np
    import torch

    shards = [np.memmap(path, np.uint16, "r") for path in sorted((data / "danlu").glob("*.bin"))]
    places = [(shard, begin) for shard in shards for begin in range(0, len(shard) - SEQUENCE + 1, SEQUENCE)]

    def epoch() -> Iterator[Any]:
        order = np.random.permutation(len(places))
        for first in range(0, len(order) - BATCH + 1, BATCH):
            chosen = [places[number] for number in order[first : first + BATCH]]
            rows = [torch.from_numpy(shard[begin : begin + SEQUENCE].astype(np.int64)) for shard, begin in chosen]
            yield torch.stack(rows)

    return epoch


def import_torchvision() -> None:
    """streaming imports torchvision, which has no build for this PyTorch: see the module that is loaded here."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "records" / "peers"))
    importlib.import_module("_torchvision")


def prepare_streaming(data: Path) -> None:
    if (data / "mds").is_dir():
        return
    import_torchvision()
    from streaming import MDSWriter

    with MDSWriter(out=str(data / "mds"), columns={"tokens": f"ndarray:uint16:{SEQUENCE}"}) as writer:
        for tokens in sequences(data):
            writer.write({"tokens": tokens})


def open_streaming(data: Path) -> Epoch:
    import_torchvision()
    import numpy as np
    import torch
    from streaming import StreamingDataset
    from torch.utils.data import DataLoader

    class Tokens(StreamingDataset):  # type: ignore[misc]
        def __getitem__(self, at: int) -> Any:
            return torch.from_numpy(super().__getitem__(at)["tokens"].astype(np.int64))

    dataset = Tokens(local=str(data / "mds"), shuffle=True, batch_size=BATCH)
    loader = DataLoader(dataset, BATCH, num_workers=2, persistent_workers=True)
    return lambda: iter(loader)


def one_sequence(tokens: Any) -> Any:
    import torch

    return torch.from_numpy(tokens.astype("int32"))


def prepare_litdata(data: Path) -> None:
    if (data / "litdata").is_dir():
        return
    from litdata import TokensLoader, optimize

    optimize(
        fn=one_sequence,
        inputs=list(sequences(data)),
        output_dir=str(data / "litdata"),
        chunk_bytes="64MB",
        num_workers=1,
        item_loader=TokensLoader(),
    )


def open_litdata(data: Path) -> Epoch:
    from litdata import StreamingDataLoader, StreamingDataset, TokensLoader

    dataset = StreamingDataset(str(data / "litdata"), item_loader=TokensLoader(SEQUENCE), shuffle=True)
    loader = StreamingDataLoader(dataset, batch_size=BATCH, num_workers=2, persistent_workers=True)

    def epoch() -> Iterator[Any]:
        for tokens in loader:
            yield tokens.long()

    return epoch


OPEN: dict[str, Callable[[Path], Epoch]] = {
    "danlu": open_danlu,
    "danlu whole": lambda data: open_danlu(data, split=False),
    "memmap": open_memmap,
    "mosaicml-streaming": open_streaming,
    "litdata": open_litdata,
}


def main(name: str, data: Path, num_tokens: int) -> None:
    if num_tokens:
        if name == "danlu":
            prepare_danlu(data, num_tokens)
        else:
            {"mosaicml-streaming": prepare_streaming, "litdata": prepare_litdata}[name](data)
        return
    epoch = OPEN[name](data)
    for _ in epoch():
        pass
    tokens, began = 0, time.perf_counter()
    while (seconds := time.perf_counter() - began) < SECONDS:
        for batch in epoch():
            tokens += batch.numel()
    print(json.dumps({"tokens": tokens, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[4]) if "--prepare" in sys.argv else 0)
    sys.stdout.flush()
    os._exit(0)  # some loaders hang at exit; the results are already printed
