"""A PIL image that is decoded on first access, and only in the part that is used.

Most transforms begin with a crop of a few tenths of the image and resize it. Both are recorded here, and the compiled
core does them in one step. The pixels are identical to those of Pillow's own crop and resize.
"""

from __future__ import annotations

from typing import Any

from PIL import Image

from danlu_accel.records import native
from danlu_accel.records.headers import image_size
from danlu_accel.records.native import Status
from danlu_accel.records.pillow_path import is_plain_jpeg, open_image

MAX_PIXELS = 1 << 26
"""Larger ones are decoded by Pillow."""
Box = tuple[int, int, int, int]


class LazyPicture(Image.Image):
    """RGB. Raises BrokenImage on first access to the pixels if they are damaged.

    Needs Pillow 11: in older versions `im` is not a property and cannot be computed on access.
    """

    def __init__(self, data: memoryview, whole: tuple[int, int], box: Box | None = None) -> None:
        """`whole`: the size of the image; `box`: the part of it that this picture shows."""
        super().__init__()
        self._mode = "RGB"
        self._data, self._whole, self._box = data, whole, box or (0, 0, *whole)
        self._size = (self._box[2] - self._box[0], self._box[3] - self._box[1])

    def load(self) -> Any:
        if self._im is None:
            self._im = self._decoded().im
        return super().load()

    def crop(self, box: tuple[float, float, float, float] | None = None) -> Image.Image:
        if self._im is not None or box is None:
            return super().crop(box)
        left, top, right, bottom = (round(side) for side in box)
        if not (0 <= left < right <= self.width and 0 <= top < bottom <= self.height):
            return super().crop(box)
        x, y = self._box[:2]
        return LazyPicture(self._data, self._whole, (x + left, y + top, x + right, y + bottom))

    def resize(self, size: Any, resample: Any = None, *more: Any, **named: Any) -> Image.Image:
        is_ours = self._im is None and resample == Image.Resampling.BILINEAR and not more and not named
        resized = self._resized(tuple(size)) if is_ours else None
        return super().resize(size, resample, *more, **named) if resized is None else resized

    def convert(self, mode: str | None = None, *more: Any, **named: Any) -> Image.Image:
        if self._im is None and mode == "RGB" and not more and not named:
            return LazyPicture(self._data, self._whole, self._box)
        return super().convert(mode, *more, **named)

    def _decoded(self) -> Image.Image:
        assert native.core is not None
        if self._size != self._whole:
            status, pixels = native.core.decode_box(self._data, *self._box)
            if status == Status.OK:
                return Image.frombytes("RGB", self._size, pixels, "raw", "RGBX")
        whole = open_image(self._data)  # Pillow may read it, or raises the error to report
        return whole if self._size == self._whole else whole.crop(self._box)

    def _resized(self, size: tuple[Any, ...]) -> Image.Image | None:
        """Return the picture in this size; None if Pillow has to resize it, or to report the error."""
        if len(size) != 2 or not all(isinstance(side, int) and 0 < side < 1 << 16 for side in size):
            return None
        if size[0] * max(size[1], self.height) > MAX_PIXELS:
            return None
        if size[1] < self.height and self.width * size[1] < size[0] * self.height:
            return None  # Pillow 13 may resize columns before rows here, which changes the last bit
        assert native.core is not None
        status, pixels = native.core.resize_box(self._data, self._box, *size)
        return Image.frombytes("RGB", size, pixels, "raw", "RGBX") if status == Status.OK else None


def open_lazily(data: memoryview) -> Image.Image:
    """Return an RGB image for a transform that probably crops it first; raise BrokenImage if Pillow cannot read it."""
    is_lazy = hasattr(native.core, "resize_box") and hasattr(Image.Image, "im") and is_plain_jpeg(data)
    size = image_size(data) if is_lazy else (0, 0)
    return LazyPicture(data, size) if min(size) > 0 else open_image(data)
