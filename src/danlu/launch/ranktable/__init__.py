"""Ascend rank tables (`hccl.json`) in three shapes: build, check and convert them. Pure.

docs/formats/ranktable.md describes the shapes. A has a version, B and C have none; B has a `deploy_mode`.
"""

from danlu.launch.ranktable.check import check
from danlu.launch.ranktable.convert import convert
from danlu.launch.ranktable.faults import Chip, Fault, Shape
from danlu.launch.ranktable.table import RankedDevice, RankTable, Server
from danlu.launch.ranktable.write import write_a, write_b, write_c

__all__ = [
    "Chip",
    "Fault",
    "RankTable",
    "RankedDevice",
    "Server",
    "Shape",
    "check",
    "convert",
    "write_a",
    "write_b",
    "write_c",
]
