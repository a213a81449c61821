"""Pack listed images into TFRecord for IndexTFRDataset.

    python3 tiacc_training/tools/img2tfrecord.py --img_dir val_demo --img_list val_list --tfrecords_name val_demo \\
        --dataset_type ImageFold [--workers 4]

For --dataset_type coco, --img_list names the annotation file (instances JSON), or a list made by general_image_list.py
beside --annotations; without that, instances_<name of img_dir>.json is looked for in `annotations`, in and beside it.
Writes <tfrecords_name>.tfrecord (or several shards), their .idx, and <tfrecords_name>.index.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from danlu_accel.records import ListedImage
    from danlu_accel.records.sources import Source


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--img_dir", required=True, help="folder of the images")
    parser.add_argument("--img_list", required=True, help="list made by general_image_list.py, or COCO annotations")
    parser.add_argument("--tfrecords_name", required=True, help="name of what is written; may begin with a folder")
    parser.add_argument("--dataset_type", required=True, type=str.lower, choices=["imagefold", "coco"])
    parser.add_argument("--annotations", help="COCO annotations, when --img_list is a list of images")
    parser.add_argument("--workers", type=int, default=0, help="threads; above 1 packs faster")
    arguments = parser.parse_args(argv)

    from danlu_accel.records import (
        PackOptions,
        RecordError,
        class_names,
        pack,
        read_list,
        sources_from_list,
    )
    from danlu_accel.records.cli import progress_bar

    try:
        if arguments.dataset_type == "coco":
            sources, classes = _coco_sources(arguments.img_dir, arguments.img_list, arguments.annotations)
        else:
            images = read_list(arguments.img_list)
            _require_labels(arguments.img_list, images)
            classes = class_names(_labels(images, Path(arguments.img_list).parent / "label_str2int.pkl"))
            sources = sources_from_list(images, classes)
        packed = pack(
            arguments.img_dir,
            sources,
            arguments.tfrecords_name,
            classes=classes,
            kind=arguments.dataset_type,
            options=PackOptions(workers=arguments.workers, progress=progress_bar()),
        )
    except (RecordError, OSError) as error:
        print(f"img2tfrecord.py: {error}", file=sys.stderr)
        return 2
    print(f"{packed.num_images} images in {packed.index_path}, {len(packed.broken)} broken ones left out")
    return 0


def _coco_sources(img_dir: str, img_list: str, annotations: str | None) -> tuple[list[Source], tuple[str, ...]]:
    """Return the sources in the annotations, in the order and with the paths of the list, if there is one."""
    from danlu_accel.records import BadImageList, read_list, sources_from_coco

    if annotations is None and Path(img_list).read_bytes().lstrip()[:1] == b"{":
        return sources_from_coco(img_list)
    listed = read_list(img_list)
    found, classes = sources_from_coco(annotations or _annotations_near(Path(img_dir)))
    by_path = {source.path: source for source in found}
    by_name = {Path(source.path).name: source for source in found}
    known = [(image.path, by_path.get(image.path) or by_name.get(Path(image.path).name)) for image in listed]
    missing = [path for path, source in known if source is None]
    if missing:
        raise BadImageList(f"{len(missing)} of {len(known)} listed images are not in the annotations: {missing[0]!r}")
    return [replace(source, path=path) for path, source in known if source is not None], classes


def _annotations_near(img_dir: Path) -> Path:
    from danlu_accel.records import BadImageList

    folder = img_dir.resolve()
    named = [parent / "annotations" / f"instances_{folder.name}.json" for parent in (folder, folder.parent)]
    only = sorted((folder / "annotations").glob("instances_*.json"))
    found = next((path for path in named if path.is_file()), only[0] if len(only) == 1 else None)
    if found is None:
        raise BadImageList(f"no COCO annotations; expected --annotations FILE, or {named[0]} or {named[1]}")
    return found


def _require_labels(img_list: str, images: list[ListedImage]) -> None:
    """Reject images without labels: lists of a folder without class folders are only for coco."""
    from danlu_accel.records import BadImageList

    if any(image.label < 0 for image in images):
        raise BadImageList(f"{img_list}: images without a class (label -1) are for --dataset_type coco")


def _labels(images: list[ListedImage], label_map: Path) -> dict[str, int]:
    """Return the class names of a list: those of its folders, plus others from a label map that agrees with them.

    A label map that disagrees is outdated or of another list, and is ignored.
    """
    from danlu_accel.records import labels_of_folders, read_label_map

    labels = labels_of_folders(images)
    if not label_map.is_file():
        return labels
    known = read_label_map(label_map)
    return known if labels and labels.items() <= known.items() else labels


if __name__ == "__main__":
    sys.exit(main())
