"""The compiled core against Pillow: the same pixels, for every kind of JPEG."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image

from danlu_accel.records import Recipe, evaluation_recipe, native, training_recipe
from danlu_accel.records.draws import Geometry, draw_geometry
from danlu_accel.records.native import to_native
from danlu_accel.records.pillow_path import finish, open_image, resized
from danlu_accel.records.prepare import same_pixels
from danlu_accel.records.recipe import Crop

core: Any = native.core
pytestmark = pytest.mark.skipif(core is None, reason=native.advice())

KINDS: dict[str, dict[str, object]] = {
    "4:4:4": {"subsampling": "4:4:4"},
    "4:2:2": {"subsampling": "4:2:2"},
    "4:2:0": {"subsampling": "4:2:0"},
    "grey": {"mode": "L"},
    "progressive": {"progressive": True},
    "optimised": {"optimize": True},
    "restart rows": {"restart_marker_rows": 1},
    "restart blocks": {"restart_marker_blocks": 3},
    "quality 100": {"quality": 100},
    "quality 5": {"quality": 5},
}
BYTES = Recipe(flip_probability=0.5, height=56, width=72, as_bytes=True, channels_last=True)


def run(image: bytes, recipe: Recipe, key: int) -> tuple[int, np.ndarray[Any, Any], Geometry]:
    shape = (recipe.height, recipe.width, 3) if recipe.channels_last else (3, recipe.height, recipe.width)
    out = np.full(shape, 77, np.uint8 if recipe.as_bytes else np.float32)
    status, fields = core.load(image, to_native(recipe), key, out.ctypes.data, out.nbytes)
    return status, out, Geometry(*fields)


def by_pillow(image: bytes, recipe: Recipe, geometry: Geometry) -> np.ndarray[Any, Any]:
    return finish(resized(Image.open(io.BytesIO(image)).convert("RGB"), recipe, geometry), recipe)


class TestCrops:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("rewritten", [False, True], ids=["as it is", "with restart markers"])
    def test_random_crops_are_within_one_level_of_pillow(
        self, photo: Callable[..., bytes], kind: str, rewritten: bool
    ) -> None:
        worst = 0
        for number, (width, height) in enumerate([(163, 97), (97, 163), (64, 64), (33, 17), (500, 375)]):
            original = photo(width, height, seed=number, **KINDS[kind])
            image = core.transcode(original, 5, True) if rewritten else original
            assert image
            for key in range(12):
                status, pixels, geometry = run(image, BYTES, key)
                assert status == 0
                expected = by_pillow(original, BYTES, geometry)
                worst = max(worst, int(np.abs(pixels.astype(int) - expected).max()))
        assert worst <= 1

    @pytest.mark.parametrize("kind", ["4:4:4", "4:2:0", "grey"])
    def test_every_single_offset_is_right(self, photo: Callable[..., bytes], kind: str) -> None:
        """Crops that begin and end on each pixel: where chroma of neighbouring MCUs is needed, and where not."""
        original = photo(75, 70, seed=3, **KINDS[kind])
        image = core.transcode(original, 2, True)
        whole = Image.open(io.BytesIO(original)).convert("RGB")
        recipe = Recipe(Crop.RANDOM_RESIZED, 16, 16, scale=(0.02, 0.3), as_bytes=True, channels_last=True)
        seen = set()
        for key in range(400):
            status, pixels, g = run(image, recipe, key)
            assert status == 0
            seen |= {
                ("x", g.x % 16),
                ("y", g.y % 16),
                ("right", (g.x + g.width) % 16),
                ("bottom", (g.y + g.height) % 16),
            }
            assert np.abs(pixels.astype(int) - finish(resized(whole, recipe, g), recipe)).max() <= 1
        assert len(seen) == 64

    def test_center_crop_equals_resize_then_cut(self, photo: Callable[..., bytes]) -> None:
        recipe = evaluation_recipe(48, 60)
        for size in [(200, 90), (90, 200), (61, 60), (40, 50)]:
            image = photo(*size)
            status, pixels, geometry = run(image, recipe, 0)
            assert status == 0
            assert np.abs(pixels - by_pillow(image, recipe, geometry)).max() <= 1.01 / 255 / 0.224

    def test_strong_shrinking_and_enlarging(self, photo: Callable[..., bytes]) -> None:
        image = photo(700, 500)
        for side in (1, 3, 17, 640):
            recipe = Recipe(Crop.WHOLE, side, side + 1, as_bytes=True, channels_last=True)
            status, pixels, geometry = run(image, recipe, 0)
            assert status == 0
            assert np.abs(pixels.astype(int) - by_pillow(image, recipe, geometry)).max() <= 1

    @pytest.mark.parametrize("as_bytes", [False, True])
    @pytest.mark.parametrize("channels_last", [False, True])
    def test_every_output_layout_holds_the_same_image(
        self, photo: Callable[..., bytes], as_bytes: bool, channels_last: bool
    ) -> None:
        recipe = Recipe(height=37, width=51, as_bytes=as_bytes, channels_last=channels_last, mean=(0.1, 0.2, 0.3))
        status, pixels, geometry = run(photo(120, 90), recipe, 5)
        assert status == 0
        tolerance = 1 if as_bytes else 1.01 / 255
        assert np.abs(pixels.astype(float) - by_pillow(photo(120, 90), recipe, geometry)).max() <= tolerance


class TestWholeImages:
    @pytest.mark.parametrize("own", [(False, False), (True, False), (False, True)])
    @pytest.mark.parametrize("kind", KINDS)
    def test_decoding_equals_pillow_exactly(
        self, photo: Callable[..., bytes], kind: str, own: tuple[bool, bool]
    ) -> None:
        for width, height in ((123, 77), (16, 16), (17, 33), (5, 40), (250, 31)):
            original = photo(width, height, **KINDS[kind])
            expected = np.asarray(Image.open(io.BytesIO(original)).convert("RGB"))
            for image in (original, core.transcode(original, 3, True)):
                status, *size, pixels = core.decode(image, *own)
                assert (status, size) == (0, [width, height])
                assert np.array_equal(np.frombuffer(pixels, np.uint8).reshape(height, width, 4)[..., :3], expected)

    def test_flat_pictures_and_harsh_ones(self) -> None:
        """Blocks with one coefficient take a shortcut; strong ones are clipped on the way."""
        rng = np.random.default_rng(3)
        for pixels in (np.full((60, 70, 3), 77), np.zeros((60, 70, 3)), rng.integers(0, 2, (60, 70, 3)) * 255):
            for subsampling, quality in ((0, 20), (2, 20), (1, 100), (2, 100)):
                out = io.BytesIO()
                Image.fromarray(pixels.astype(np.uint8)).save(out, "JPEG", quality=quality, subsampling=subsampling)
                status, width, height, found = core.decode(out.getvalue())
                expected = np.asarray(Image.open(out).convert("RGB"))
                assert status == 0
                assert np.array_equal(np.frombuffer(found, np.uint8).reshape(height, width, 4)[..., :3], expected)

    def test_open_image_gives_pillows_pixels_in_mode_rgb(self, photo: Callable[..., bytes]) -> None:
        image = open_image(memoryview(photo(50, 40)))
        assert image.mode == "RGB"
        assert np.array_equal(np.asarray(image), np.asarray(Image.open(io.BytesIO(photo(50, 40)))))

    def test_open_image_keeps_exif_for_those_who_rotate(self, photo: Callable[..., bytes]) -> None:
        exif = Image.Exif()
        exif[0x0112] = 6
        assert open_image(memoryview(photo(50, 40, exif=exif))).getexif()[0x0112] == 6


class TestTranscode:
    @pytest.mark.parametrize("kind", KINDS)
    def test_no_pixel_changes(self, photo: Callable[..., bytes], kind: str) -> None:
        original = photo(150, 110, **KINDS[kind])
        rewritten = core.transcode(original, 5, True)
        assert rewritten != original
        assert same_pixels(original, rewritten)
        assert "progressive" not in Image.open(io.BytesIO(rewritten)).info

    def test_a_progressive_file_that_ends_early_is_left_alone(self, photo: Callable[..., bytes]) -> None:
        """Decoders smooth such a file; as baseline it would look different."""
        image = photo(150, 110, progressive=True)
        scans = [at for at in range(len(image) - 1) if image[at : at + 2] == b"\xff\xda"]
        assert len(scans) > 4
        assert core.transcode(image[: scans[3]] + b"\xff\xd9", 5, True) == b""

    def test_cmyk_stays_cmyk(self, photo: Callable[..., bytes]) -> None:
        original = photo(60, 50, mode="CMYK")
        assert same_pixels(original, core.transcode(original, 5, True))

    def test_metadata_is_kept_or_dropped_by_choice(self, photo: Callable[..., bytes]) -> None:
        original = photo(60, 50, icc_profile=b"colour" * 50, comment=b"hello")
        kept = Image.open(io.BytesIO(core.transcode(original, 5, True)))
        dropped = Image.open(io.BytesIO(core.transcode(original, 5, False)))
        assert (kept.info["icc_profile"], kept.info["comment"]) == (b"colour" * 50, b"hello")
        assert "icc_profile" not in dropped.info

    def test_it_does_not_guess_in_damaged_files(self, photo: Callable[..., bytes]) -> None:
        image = photo(200, 150)
        assert core.transcode(image[: len(image) // 2], 5, True) == b""
        assert core.transcode(b"no image", 5, True) == b""


class TestDraws:
    @pytest.mark.parametrize(
        "recipe", [training_recipe(), evaluation_recipe(), Recipe(Crop.WHOLE), Recipe(ratio=(0.2, 9.0))]
    )
    def test_python_and_native_draw_the_same(self, recipe: Recipe) -> None:
        native_recipe = to_native(recipe)
        for key in range(300):
            width, height = 1 + key * 7919 % 700, 1 + key * 104729 % 500
            assert Geometry(*core.draw(native_recipe, width, height, key)) == draw_geometry(recipe, width, height, key)


def test_the_portable_kernels_give_the_same_bytes(photo: Callable[..., bytes], tmp_path: Any) -> None:
    image = core.transcode(photo(300, 200), 5, True)
    (tmp_path / "a.jpg").write_bytes(image)
    code = """
import sys, hashlib, numpy as np
from danlu_accel.records import Recipe, native
from danlu_accel.records.native import to_native
digest = hashlib.sha256()
for key in range(40):
    recipe = Recipe(flip_probability=0.5, height=45, width=67, as_bytes=True, channels_last=bool(key % 2))
    out = np.empty((45, 67, 3), np.uint8)
    assert native.core.load(open(sys.argv[1], "rb").read(), to_native(recipe), key, out.ctypes.data, out.nbytes)[0] == 0
    digest.update(out)
print(native.core.build_info().split(",")[0], digest.hexdigest())
"""
    results = []
    for wish in ("", "portable"):
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "a.jpg")],
            env={"DANLU_RECORDS_KERNELS": wish},
            capture_output=True,
            text=True,
            check=True,
        )
        results.append(done.stdout.split())
    assert results[1][1] == "portable"
    assert results[0][2] == results[1][2]
