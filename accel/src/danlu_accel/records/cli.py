"""danlu-records: list, pack, check, info, unpack."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

from danlu_accel.records import native
from danlu_accel.records.errors import RecordError
from danlu_accel.records.inspection import check, describe, unpack
from danlu_accel.records.listing import (
    class_names,
    list_images,
    read_label_map,
    read_list,
    require_same_labels,
    write_label_map,
    write_list,
)
from danlu_accel.records.packing import OnBroken, PackOptions, Progress, pack
from danlu_accel.records.prepare import Rewriting
from danlu_accel.records.sources import sources_from_coco, sources_from_list


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Returns 0: done, 1: faults were found, 2: the command failed."""
    arguments = _parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except (RecordError, OSError, ValueError) as error:
        _say(f"danlu-records: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="danlu-records", description="Pack images into TFRecord shards and look into them."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    command = commands.add_parser("list", help="write an image list `path label` for a folder with a folder per class")
    command.add_argument("image_dir")
    command.add_argument("image_list", help="file to write")
    command.add_argument(
        "--labels", help="label map to use (JSON or pickle); made and written beside the list if missing"
    )
    command.set_defaults(run=_list)

    command = commands.add_parser("pack", help="pack images into shards with indexes")
    command.add_argument("image_dir")
    command.add_argument("name", help="what the shards are called, may begin with a folder: out/train")
    command.add_argument("--list", dest="image_list", help="image list; without it the folder is listed")
    command.add_argument("--annotations", help="COCO instances JSON instead of an image list")
    command.add_argument("--labels", help="label map (JSON or pickle)")
    command.add_argument("--workers", type=int, default=0, help="threads that read and rewrite images; 0: none")
    command.add_argument("--shards", type=int, default=0, help="number of shards; 0: by --shard-mb")
    command.add_argument("--shard-mb", type=int, default=256, help="aimed size of a shard in MiB (%(default)s)")
    command.add_argument("--broken", choices=[choice.value for choice in OnBroken], default=OnBroken.LIST.value)
    command.add_argument("--shuffle", type=int, metavar="SEED", help="put images in a random order")
    command.add_argument("--keep-bytes", action="store_true", help="store files as they are, without restart markers")
    command.add_argument("--strip-metadata", action="store_true", help="drop EXIF, ICC and comments of rewritten JPEG")
    command.add_argument(
        "--short-side", type=int, default=0, help="LOSSY: shrink to this many pixels; 0: never (default)"
    )
    command.add_argument("--quality", type=int, default=90, help="JPEG quality with --short-side (%(default)s)")
    command.set_defaults(run=_pack)

    command = commands.add_parser("index-samples", help="index tars of samples, .jsonl and .txt where they lie")
    command.add_argument("files", nargs="+")
    command.add_argument("--name", default="train", help="<name>.samples is written beside the files (%(default)s)")
    command.set_defaults(run=_index_samples)

    command = commands.add_parser("check", help="verify every length and checksum")
    command.add_argument("index")
    command.add_argument("--decode", action="store_true", help="also load every image")
    command.set_defaults(run=_check)

    command = commands.add_parser("info", help="say what an index holds")
    command.add_argument("index")
    command.set_defaults(run=_info)

    command = commands.add_parser("unpack", help="write every image to a file again")
    command.add_argument("index")
    command.add_argument("target")
    command.set_defaults(run=_unpack)
    return parser


def _list(arguments: argparse.Namespace) -> int:
    known = read_label_map(arguments.labels) if arguments.labels and Path(arguments.labels).exists() else None
    images, labels = list_images(arguments.image_dir, known)
    write_list(arguments.image_list, images)
    if known is None:
        write_label_map(arguments.labels or f"{arguments.image_list}.labels.json", labels)
    _say(f"{len(images)} images of {len(labels)} classes listed in {arguments.image_list}")
    return 0


def _pack(arguments: argparse.Namespace) -> int:
    labels = read_label_map(arguments.labels) if arguments.labels else {}
    kind = "coco" if arguments.annotations else "imagefold"
    if arguments.annotations:
        sources, classes = sources_from_coco(arguments.annotations)
    else:
        if arguments.image_list:
            images = read_list(arguments.image_list)
            require_same_labels(images, labels)
        else:
            images, labels = list_images(arguments.image_dir, labels or None)
        classes = class_names(labels)
        sources = sources_from_list(images, classes)
    rewriting = Rewriting(
        restart_markers=not arguments.keep_bytes,
        short_side=arguments.short_side,
        quality=arguments.quality,
        keep_metadata=not arguments.strip_metadata,
    )
    options = PackOptions(
        workers=arguments.workers,
        num_shards=arguments.shards,
        shard_megabytes=arguments.shard_mb,
        on_broken=OnBroken(arguments.broken),
        shuffle_seed=arguments.shuffle,
        rewriting=rewriting,
        progress=progress_bar(),
    )
    if native.core is None and not arguments.keep_bytes:
        _say(f"danlu-records: images are stored as they are: {native.advice()}", file=sys.stderr)
    packed = pack(
        arguments.image_dir,
        sources,
        arguments.name,
        classes=classes,
        kind=kind,
        options=options,
    )
    _say(f"{packed.num_images} images, {packed.num_bytes / 1e6:.1f} MB, index {packed.index_path}")
    if packed.num_resumed_shards:
        _say(f"{packed.num_resumed_shards} shards were there from an earlier run")
    if packed.broken:
        _say(f"{len(packed.broken)} broken images left out, first: {packed.broken[0][0]}: {packed.broken[0][1]}")
    return 0


def _index_samples(arguments: argparse.Namespace) -> int:
    from danlu_accel.samples.indexing import index_samples

    target = Path(arguments.files[0]).parent / arguments.name
    index = index_samples(arguments.files, target)
    fields = ", ".join(index.fields[:12])
    _say(f"{len(index.samples)} samples of {fields} in {len(index.shards)} files, index {target}.samples")
    return 0


def _check(arguments: argparse.Namespace) -> int:
    faults = check(arguments.index, decode=arguments.decode)
    for fault in faults:
        _say(f"record {fault.position} in {fault.shard}: {fault.why}")
    _say(f"{len(faults)} faults" if faults else "all records are sound")
    return 1 if faults else 0


def _info(arguments: argparse.Namespace) -> int:
    for name, value in asdict(describe(arguments.index)).items():
        _say(f"{name:18} {value:.1f}" if isinstance(value, float) else f"{name:18} {value}")
    _say(f"{'decoder':18} {native.advice()}")
    return 0


def _unpack(arguments: argparse.Namespace) -> int:
    _say(f"{unpack(arguments.index, arguments.target)} images written to {arguments.target}")
    return 0


def _say(text: str, file: TextIO | None = None) -> None:
    """Print. Escapes control characters: names in lists and shards come from others and could control the terminal."""
    print(
        "".join(char if char.isprintable() or char in "\n\t\u3000" else ascii(char)[1:-1] for char in text), file=file
    )


def progress_bar() -> Progress:
    """Return a progress callback: a bar on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        return lambda *_: None
    began = time.monotonic()

    def draw(done: int, total: int) -> None:
        filled = 40 * done // max(total, 1)
        rate = done / max(time.monotonic() - began, 1e-9)
        end = "\n" if done >= total else ""
        bar = "#" * filled + "." * (40 - filled)
        print(f"\r[{bar}] {done}/{total} images, {rate:.0f}/s", end=end, file=sys.stderr, flush=True)

    return draw


if __name__ == "__main__":
    sys.exit(main())
