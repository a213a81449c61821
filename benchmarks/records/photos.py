"""Generate photographs: JPEG files that take as long to decode as real ones.

Decoding time depends on the size in pixels, the bytes per pixel and their distribution over the picture. A scene is a
sum of smooth 1/f texture, a few large surfaces with edges, and sensor noise that grows in the dark; quality and
subsampling are mixed as on the web. Mean size is about 100 KB at 500x375, as in ImageNet.
"""

from __future__ import annotations

import io
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFilter

NUM_CLASSES = 30
CANVAS = 1024
SIZES = (
    [(500, 375)] * 9
    + [(375, 500)] * 4
    + [(500, 333), (500, 333), (333, 500), (500, 400), (480, 360), (640, 480), (400, 300)]
)


def make_photos(target: Path, count: int, workers: int = 2) -> None:
    """Write `count` files as <target>/<class>/<number>.jpg, unless they exist."""
    if (target / ".complete").is_file():
        return
    for number in range(NUM_CLASSES):
        (target / f"class_{number:02d}").mkdir(parents=True, exist_ok=True)
    scenes = range(0, count, 20)
    with ProcessPoolExecutor(workers) as pool:
        for _ in pool.map(_write_scene, [target] * len(scenes), scenes, [count] * len(scenes)):
            pass
    (target / ".complete").touch()


def _write_scene(target: Path, first: int, count: int) -> None:
    rng = np.random.default_rng(first)
    scene = _scene(rng)
    for number in range(first, min(first + 20, count)):
        path = target / f"class_{number % NUM_CLASSES:02d}" / f"{number:06d}.jpg"
        path.write_bytes(_photo(scene, rng))


def _scene(rng: np.random.Generator) -> npt.NDArray[np.float32]:
    frequency = np.hypot(np.fft.fftfreq(CANVAS)[:, None], np.fft.rfftfreq(CANVAS)[None, :])
    amplitude = 1.0 / np.maximum(frequency, 1.0 / CANVAS) ** rng.uniform(1.0, 1.35)
    shared = _texture(rng, amplitude)
    channels = [0.85 * shared + 0.15 * _texture(rng, amplitude) for _ in range(3)]
    surfaces = np.asarray(_surfaces(rng), np.float32)
    return np.stack(channels, -1) * 42 + surfaces


def _texture(rng: np.random.Generator, amplitude: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    spectrum = amplitude * np.exp(2j * np.pi * rng.random(amplitude.shape))
    field = np.fft.irfft2(spectrum, (CANVAS, CANVAS))
    return np.asarray((field - field.mean()) / field.std())


def _surfaces(rng: np.random.Generator) -> Image.Image:
    image = Image.new("RGB", (CANVAS, CANVAS), tuple(int(v) for v in rng.integers(60, 200, 3)))
    draw = ImageDraw.Draw(image)
    for _ in range(60):
        center, radius = rng.integers(0, CANVAS, 2), int(rng.integers(20, 260))
        angles = np.sort(rng.uniform(0, 2 * np.pi, int(rng.integers(3, 9))))
        corners = [(center[0] + radius * np.cos(a), center[1] + radius * np.sin(a)) for a in angles]
        draw.polygon(corners, fill=tuple(int(v) for v in rng.integers(10, 245, 3)))
    return image.filter(ImageFilter.GaussianBlur(1.2))


def _photo(scene: npt.NDArray[np.float32], rng: np.random.Generator) -> bytes:
    width, height = SIZES[int(rng.integers(len(SIZES)))]
    y, x = int(rng.integers(CANVAS - height)), int(rng.integers(CANVAS - width))
    part = scene[y : y + height, x : x + width]
    noise = rng.normal(0, rng.uniform(2.0, 7.5), part.shape)
    pixels = np.clip(part + noise, 0, 255).astype(np.uint8)
    out = io.BytesIO()
    subsampling = 2 if rng.random() < 0.75 else 0
    Image.fromarray(pixels).save(out, "JPEG", quality=int(rng.integers(90, 96)), subsampling=subsampling)
    return out.getvalue()
