"""A picture that is decoded where it is looked at has the pixels of the whole one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from danlu_accel.records import BrokenImage, native
from danlu_accel.records.lazy_picture import LazyPicture, open_lazily
from danlu_accel.records.pillow_path import open_image

pytestmark = pytest.mark.skipif(native.core is None, reason="needs the compiled core")


@pytest.mark.parametrize("subsampling", ["4:4:4", "4:2:2", "4:2:0"])
@pytest.mark.parametrize("box", [(0, 0, 1, 1), (17, 9, 80, 63), (0, 0, 97, 65), (95, 63, 97, 65), (-5, -5, 120, 90)])
def test_a_crop_is_that_of_the_whole_image(
    photo: Callable[..., bytes], subsampling: str, box: tuple[int, int, int, int]
) -> None:
    data = memoryview(photo(97, 65, subsampling=subsampling))
    lazy = open_lazily(data)
    assert isinstance(lazy, LazyPicture)
    assert np.array_equal(np.asarray(lazy.crop(box)), np.asarray(open_image(data).crop(box)))


def test_anything_but_a_crop_decodes_the_whole_image(photo: Callable[..., bytes]) -> None:
    data = memoryview(photo())
    lazy = open_lazily(data)
    assert isinstance(lazy, Image.Image)
    assert lazy.size == (96, 64)
    assert np.array_equal(np.asarray(lazy.resize((20, 20))), np.asarray(open_image(data).resize((20, 20))))


def test_other_formats_are_opened_at_once(photo: Callable[..., bytes]) -> None:
    assert not isinstance(open_lazily(memoryview(photo(format="PNG"))), LazyPicture)


def test_a_broken_one_says_so_when_it_is_looked_at(photo: Callable[..., bytes]) -> None:
    lazy = open_lazily(memoryview(photo()[:400]))
    cropped = lazy.crop((0, 0, 96, 60))
    with pytest.raises(BrokenImage):
        cropped.load()
    with pytest.raises(BrokenImage):
        lazy.resize((20, 20), Image.Resampling.BILINEAR)


SIDES = st.integers(1, 300)


@given(data=st.data(), width=SIDES, height=SIDES, with_restarts=st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_crop_that_is_resized_is_pillows_to_the_last_bit(
    photo: Callable[..., bytes], data: st.DataObject, width: int, height: int, with_restarts: bool
) -> None:
    raw = photo(150, 110, seed=7)
    raw = native.core.transcode(raw, 3, True) if with_restarts and native.core is not None else raw
    left, top = data.draw(st.integers(0, 149)), data.draw(st.integers(0, 109))
    box = (left, top, data.draw(st.integers(left + 1, 150)), data.draw(st.integers(top + 1, 110)))
    lazy, whole = open_lazily(memoryview(raw)), open_image(memoryview(raw))
    resized = lazy.convert("RGB").crop(box).resize((width, height), Image.Resampling.BILINEAR)
    assert lazy._im is None  # nobody asked for the rest
    expected = whole.crop(box).resize((width, height), Image.Resampling.BILINEAR)
    assert resized.mode == "RGB"
    assert np.array_equal(np.asarray(resized), np.asarray(expected))


@pytest.mark.parametrize("kernels", ["", "portable"])
def test_all_kernels_give_the_same_bits(photo: Callable[..., bytes], tmp_path: Path, kernels: str) -> None:
    code = """
import sys, numpy as np
from PIL import Image
from danlu_accel.records.lazy_picture import open_lazily
from danlu_accel.records.pillow_path import open_image
data = memoryview(open(sys.argv[1], "rb").read())
for box, size in (((3, 5, 97, 60), (40, 31)), ((0, 0, 1, 1), (9, 9)), ((10, 10, 90, 12), (33, 50))):
    found, whole = (each(data).crop(box).resize(size, Image.Resampling.BILINEAR) for each in (open_lazily, open_image))
    assert np.array_equal(np.asarray(found), np.asarray(whole)), (box, size)
"""
    (tmp_path / "a.jpg").write_bytes(photo(97, 65))
    environment = {**os.environ, "DANLU_RECORDS_KERNELS": kernels}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.jpg")], check=True, env=environment)


def test_crops_of_crops_and_what_is_left_to_pillow(photo: Callable[..., bytes]) -> None:
    raw = memoryview(photo())
    lazy, whole = open_lazily(raw), open_image(raw)

    def same(one: Image.Image, other: Image.Image) -> None:
        assert (one.size, one.mode) == (other.size, other.mode)
        assert np.array_equal(np.asarray(one), np.asarray(other))

    same(lazy.crop((10, 10, 60, 50)).crop((5, 5, 20, 30)), whole.crop((10, 10, 60, 50)).crop((5, 5, 20, 30)))
    same(lazy.crop((10, 10, 60, 50)).crop((-5, 5, 70, 30)), whole.crop((10, 10, 60, 50)).crop((-5, 5, 70, 30)))
    for resample in Image.Resampling:
        same(open_lazily(raw).resize((30, 20), resample), whole.resize((30, 20), resample))
    same(open_lazily(raw).resize([30, 20]), whole.resize([30, 20]))
    box, bilinear = (1.5, 2, 60, 50), Image.Resampling.BILINEAR
    same(open_lazily(raw).resize((30, 20), bilinear, box), whole.resize((30, 20), bilinear, box))
    same(
        open_lazily(raw).resize((30, 20), bilinear, reducing_gap=2.0),
        whole.resize((30, 20), bilinear, reducing_gap=2.0),
    )
    same(open_lazily(raw).convert("L"), whole.convert("L"))
    same(open_lazily(raw).copy(), whole)
    with pytest.raises(ValueError, match="must be > 0"):
        open_lazily(raw).resize((0, 5), bilinear)


def test_an_older_pillow_gets_an_ordinary_picture(photo: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """Pillow 11 made `im` a property, which a picture without pixels needs."""
    data = memoryview(photo())
    monkeypatch.delattr(Image.Image, "im")
    assert type(open_lazily(data)) is Image.Image
