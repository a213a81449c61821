"""Image records: pack many small image files into indexed TFRecord shards and load them fast in training.

Packing: list_images, pack, check, describe, unpack. Training: IndexTFRDataset, RecordLoader. Names are imported on
first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from danlu_accel.records.augment import ColorJitter as ColorJitter
    from danlu_accel.records.augment import Erasing as Erasing
    from danlu_accel.records.augment import RandAugment as RandAugment
    from danlu_accel.records.augment import TrivialAugment as TrivialAugment
    from danlu_accel.records.boxes import Objects as Objects
    from danlu_accel.records.dataset import IndexTFRDataset as IndexTFRDataset
    from danlu_accel.records.errors import BadImageList as BadImageList
    from danlu_accel.records.errors import BadRecordFile as BadRecordFile
    from danlu_accel.records.errors import BrokenImage as BrokenImage
    from danlu_accel.records.errors import RecordError as RecordError
    from danlu_accel.records.errors import StaleIterator as StaleIterator
    from danlu_accel.records.errors import Unavailable as Unavailable
    from danlu_accel.records.errors import UnknownTransform as UnknownTransform
    from danlu_accel.records.inspection import check as check
    from danlu_accel.records.inspection import describe as describe
    from danlu_accel.records.inspection import unpack as unpack
    from danlu_accel.records.listing import ListedImage as ListedImage
    from danlu_accel.records.listing import class_names as class_names
    from danlu_accel.records.listing import labels_of_folders as labels_of_folders
    from danlu_accel.records.listing import list_images as list_images
    from danlu_accel.records.listing import read_label_map as read_label_map
    from danlu_accel.records.listing import read_list as read_list
    from danlu_accel.records.listing import write_label_map as write_label_map
    from danlu_accel.records.listing import write_list as write_list
    from danlu_accel.records.loader import RecordLoader as RecordLoader
    from danlu_accel.records.mixing import Mixing as Mixing
    from danlu_accel.records.options import LoaderOptions as LoaderOptions
    from danlu_accel.records.packing import OnBroken as OnBroken
    from danlu_accel.records.packing import PackOptions as PackOptions
    from danlu_accel.records.packing import pack as pack
    from danlu_accel.records.prepare import Rewriting as Rewriting
    from danlu_accel.records.recipe import Recipe as Recipe
    from danlu_accel.records.recipe import evaluation_recipe as evaluation_recipe
    from danlu_accel.records.recipe import recognise as recognise
    from danlu_accel.records.recipe import training_recipe as training_recipe
    from danlu_accel.records.sources import sources_from_coco as sources_from_coco
    from danlu_accel.records.sources import sources_from_list as sources_from_list

_HOME = {
    "augment": ["ColorJitter", "Erasing", "RandAugment", "TrivialAugment"],
    "boxes": ["Objects"],
    "dataset": ["IndexTFRDataset"],
    "errors": [
        "BadImageList",
        "BadRecordFile",
        "BrokenImage",
        "RecordError",
        "StaleIterator",
        "Unavailable",
        "UnknownTransform",
    ],
    "inspection": ["check", "describe", "unpack"],
    "listing": [
        "ListedImage",
        "class_names",
        "labels_of_folders",
        "list_images",
        "read_label_map",
        "read_list",
        "write_label_map",
        "write_list",
    ],
    "loader": ["RecordLoader"],
    "mixing": ["Mixing"],
    "options": ["LoaderOptions"],
    "packing": ["OnBroken", "PackOptions", "pack"],
    "prepare": ["Rewriting"],
    "recipe": ["Recipe", "evaluation_recipe", "recognise", "training_recipe"],
    "sources": ["sources_from_coco", "sources_from_list"],
}
_WHERE = {name: module for module, names in _HOME.items() for name in names}
__all__ = sorted(_WHERE)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"danlu_accel.records has no {name!r}")
    return getattr(import_module(f"danlu_accel.records.{_WHERE[name]}"), name)
