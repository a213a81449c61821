"""Image lists, with a line `path label` per image, and label maps.

For a folder per class, as for torchvision's ImageFolder, the label map numbers the sorted class names 0, 1, 2, ...
"""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from danlu_accel.records.errors import BadImageList
from danlu_accel.records.files import Name, write_whole

MAX_CLASSES = 1 << 20
IMAGE_SUFFIXES = frozenset([".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp"])


@dataclass(frozen=True)
class ListedImage:
    path: str  # relative to the image folder, with forward slashes
    label: int


def list_images(image_dir: Name, label_map: dict[str, int] | None = None) -> tuple[list[ListedImage], dict[str, int]]:
    """Return every image below `image_dir` in sorted order, and the label map that was used."""
    root = Path(image_dir)
    if not root.is_dir():
        raise BadImageList(f"no folder {str(root)!r}; expected one with a folder per class")
    folders = sorted(entry.name for entry in root.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    if not folders:
        raise BadImageList(f"{str(root)!r} has no class folders; expected {str(root)!r}/<class>/<image>")
    labels = {name: number for number, name in enumerate(folders)} if label_map is None else dict(label_map)
    unknown = [name for name in folders if name not in labels]
    if unknown:
        raise BadImageList(f"class folder {unknown[0]!r} is not in the label map, which knows {len(labels)} classes")
    images: list[ListedImage] = []
    for folder in folders:
        files = sorted(path for path in (root / folder).rglob("*") if path.suffix.lower() in IMAGE_SUFFIXES)
        images.extend(
            ListedImage(path.relative_to(root).as_posix(), labels[folder]) for path in files if path.is_file()
        )
    if not images:
        raise BadImageList(f"no images below {str(root)!r}; expected {str(root)!r}/<class>/<image> with a usual suffix")
    return images, labels


def labels_of_folders(images: Iterable[ListedImage]) -> dict[str, int]:
    """Return the label map that a list implies: each class folder with its label.

    Empty if images are in no class folder or have no label, or if images of one folder have different labels.
    """
    labels: dict[str, int] = {}
    for image in images:
        folder, slash, _ = image.path.partition("/")
        if not slash or not 0 <= image.label < MAX_CLASSES or labels.setdefault(folder, image.label) != image.label:
            return {}
    return labels


def class_names(labels: Mapping[str, int]) -> tuple[str, ...]:
    """Return the names of a label map by number; "" for a number without a name."""
    names: dict[int, list[str]] = {}
    for name, number in sorted(labels.items()):
        if not 0 <= number < MAX_CLASSES:
            raise BadImageList(f"label of class {name!r}: expected 0 to {MAX_CLASSES - 1}, got {number}")
        names.setdefault(number, []).append(name)
    return tuple(", ".join(names.get(number, [])) for number in range(max(names, default=-1) + 1))


def require_same_labels(images: Iterable[ListedImage], labels: Mapping[str, int]) -> None:
    """Raise BadImageList if an image has another label in the list than its class folder has in the label map."""
    for image in images:
        folder = image.path.partition("/")[0]
        if labels.get(folder, image.label) != image.label:
            raise BadImageList(
                f"{image.path}: expected label {labels[folder]}, as the label map says for {folder!r}, "
                f"got {image.label}; list and label map do not belong together"
            )


def write_list(path: Name, images: Iterable[ListedImage]) -> None:
    write_whole(Path(path), ["".join(f"{image.path} {image.label}\n" for image in images).encode()])


def read_list(path: Name) -> list[ListedImage]:
    """Read `path label` lines. The label follows the last blank, so paths may contain blanks."""
    images = []
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadImageList(f"cannot read the image list {str(path)!r}: {error}") from error
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        name, _, label = line.rpartition(" ")
        if not name or not label.lstrip("-").isdigit():
            raise BadImageList(f"{path}, line {number}: expected `path label`, got {line[:80]!r}")
        images.append(ListedImage(name, int(label)))
    return images


def read_label_map(path: Name) -> dict[str, int]:
    """Read a label map: JSON, or a pickled dict. A pickle with anything but plain data is rejected."""
    raw = Path(path).read_bytes()
    try:
        found = json.loads(raw) if raw.lstrip()[:1] == b"{" else _PlainUnpickler(io.BytesIO(raw)).load()
    except (ValueError, EOFError, pickle.UnpicklingError, AttributeError, IndexError, KeyError, TypeError) as error:
        raise BadImageList(f"cannot read the label map {str(path)!r}: {error}") from error
    if not isinstance(found, dict) or not all(isinstance(k, str) and isinstance(v, int) for k, v in found.items()):
        raise BadImageList(f"the label map {str(path)!r} must map class names to whole numbers")
    return found


def write_label_map(path: Name, labels: dict[str, int]) -> None:
    """Write JSON, or a pickle if the name ends in .pkl."""
    is_pickle = Path(path).suffix == ".pkl"
    raw = pickle.dumps(labels, protocol=2) if is_pickle else json.dumps(labels, ensure_ascii=False, indent=1).encode()
    write_whole(Path(path), [raw])


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> object:
        raise pickle.UnpicklingError(f"it wants to load {module}.{name}; only plain data is allowed")
