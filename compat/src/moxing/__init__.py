"""`moxing.file` on Danlu's store, for training code written for ModelArts that copies its data itself.

import moxing as mox

mox.file.copy_parallel("obs://bucket/imagenet/", "/cache/imagenet")
"""

from __future__ import annotations

from moxing import file as file

__all__ = ["file"]
