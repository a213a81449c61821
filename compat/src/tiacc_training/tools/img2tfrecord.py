"""Pack listed images into TFRecord for IndexTFRDataset.

    python3 tiacc_training/tools/img2tfrecord.py --img_dir val_demo --img_list val_list --tfrecords_name val_demo \\
        --dataset_type ImageFold [--workers 4]

For --dataset_type coco, --img_list names the annotation file (instances JSON).
Writes <tfrecords_name>.tfrecord (or several shards), their .idx, and <tfrecords_name>.index.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from danlu_accel.records import ListedImage


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--img_dir", required=True, help="folder of the images")
    parser.add_argument("--img_list", required=True, help="list made by general_image_list.py, or COCO annotations")
    parser.add_argument("--tfrecords_name", required=True, help="name of what is written; may begin with a folder")
    parser.add_argument("--dataset_type", required=True, type=str.lower, choices=["imagefold", "coco"])
    parser.add_argument("--workers", type=int, default=0, help="threads; above 1 packs faster")
    arguments = parser.parse_args(argv)

    from danlu_accel.records import (
        PackOptions,
        RecordError,
        class_names,
        pack,
        read_list,
        sources_from_coco,
        sources_from_list,
    )
    from danlu_accel.records.cli import progress_bar

    try:
        if arguments.dataset_type == "coco":
            sources, classes = sources_from_coco(arguments.img_list)
        else:
            images = read_list(arguments.img_list)
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


def _labels(images: list[ListedImage], label_map: Path) -> dict[str, int]:
    """Return the class names of a list: those of its folders, and more from a label map that agrees with them.

    A label map that does not agree is older, or of another list.
    """
    from danlu_accel.records import labels_of_folders, read_label_map

    labels = labels_of_folders(images)
    if not label_map.is_file():
        return labels
    known = read_label_map(label_map)
    return known if labels and labels.items() <= known.items() else labels


if __name__ == "__main__":
    sys.exit(main())
