"""Write the image list that img2tfrecord.py packs.

    python3 tiacc_training/tools/general_image_list.py --img_dir val_demo/ --img_list val_list [--label_str2int map.pkl]

Without --label_str2int the map is made and pickled as `label_str2int.pkl` beside the list. Images that lie in --img_dir
itself, as COCO's do, have no class: they are listed with the label -1.
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
    parser.add_argument("--img_dir", required=True, help="folder with one folder per class, named after the class")
    parser.add_argument("--img_list", required=True, help="list to write: `path label` per line")
    parser.add_argument("--label_str2int", help="pickled (or JSON) dict from class name to class id")
    arguments = parser.parse_args(argv)

    from danlu_accel.records import RecordError, read_label_map, write_label_map, write_list

    try:
        known = read_label_map(arguments.label_str2int) if arguments.label_str2int else None
        images, labels = _list(Path(arguments.img_dir), known)
        write_list(arguments.img_list, images)
        if known is None:
            write_label_map(Path(arguments.img_list).parent / "label_str2int.pkl", labels)
    except (RecordError, OSError) as error:
        print(f"general_image_list.py: {error}", file=sys.stderr)
        return 2
    print(f"{len(images)} images of {len(labels)} classes listed in {arguments.img_list}")
    return 0


def _list(folder: Path, known: dict[str, int] | None) -> tuple[list[ListedImage], dict[str, int]]:
    from danlu_accel.records import ListedImage, list_images
    from danlu_accel.records.listing import IMAGE_SUFFIXES

    parts = sorted(folder.iterdir()) if folder.is_dir() else []
    own = [path.name for path in parts if path.suffix.lower() in IMAGE_SUFFIXES and path.is_file()]
    if own and not any(path.is_dir() and not path.name.startswith(".") for path in parts):
        return [ListedImage(name, -1) for name in own], {}
    return list_images(folder, known)


if __name__ == "__main__":
    sys.exit(main())
