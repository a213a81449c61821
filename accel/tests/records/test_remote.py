"""Shards behind HTTP and S3, served by a real server process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import pytest
import torch

from danlu.testing.waiting import HANG_SECONDS
from danlu_accel.records import BadRecordFile, IndexTFRDataset, LoaderOptions, Recipe, RecordLoader, Unavailable, native
from danlu_accel.samples import SampleLoader, SampleRecipe

SMALL = Recipe(height=24, width=32, flip_probability=0.5)


@pytest.fixture
def s3(serve: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], str]:
    pytest.importorskip("obstore")

    def start(folder: Path) -> str:
        address = serve("s3", folder.parent)
        for name, value in {"ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret", "REGION": "us-east-1"}.items():
            monkeypatch.setenv(f"AWS_{name}", value)
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        return f"s3://{folder.name}"

    return start


def to_size(picture: Any) -> torch.Tensor:
    return torch.tensor(picture.size)


def flip(path: Path, at: int) -> None:
    """Change one byte in place."""
    raw = bytearray(path.read_bytes())
    raw[at] ^= 1
    path.write_bytes(bytes(raw))


def batches(loader: RecordLoader) -> list[tuple[torch.Tensor, list[int]]]:
    return [(images.clone(), labels.tolist()) for images, labels in loader]


class TestS3:
    def test_batches_equal_those_of_local_shards(
        self, packed: Callable[..., Path], s3: Callable[[Path], str], tmp_path: Path
    ) -> None:
        path = packed(30, shards=6)
        url = s3(path.parent)
        with RecordLoader(path.parent, path.name, SMALL, batch_size=7, options=LoaderOptions(window_shards=4)) as local:
            expected = batches(local)
        with RecordLoader(
            url, path.name, SMALL, batch_size=7, options=LoaderOptions(cache_dir=tmp_path / "cache")
        ) as remote:
            found = batches(remote)
            assert "through the cache" in remote.explain()
        assert all(torch.equal(a, c) and b == d for (a, b), (c, d) in zip(expected, found))
        assert len(list((tmp_path / "cache").rglob("*.tfrecord"))) == 6

    def test_the_cache_serves_when_shards_are_gone(
        self, packed: Callable[..., Path], s3: Callable[[Path], str], tmp_path: Path
    ) -> None:
        path = packed(10, shards=2)
        url = s3(path.parent)
        with RecordLoader(
            url, path.name, SMALL, batch_size=5, options=LoaderOptions(cache_dir=tmp_path / "cache")
        ) as loader:
            first = batches(loader)
        for shard in path.parent.glob("*.tfrecord"):
            shard.unlink()
        with RecordLoader(
            url, path.name, SMALL, batch_size=5, options=LoaderOptions(cache_dir=tmp_path / "cache")
        ) as loader:
            assert [labels for _, labels in batches(loader)] == [labels for _, labels in first]

    @pytest.mark.parametrize("what", ["RecordLoader", "IndexTFRDataset"])
    def test_a_forked_process_fetches_too(
        self, packed: Callable[..., Path], s3: Callable[[Path], str], tmp_path: Path, what: str
    ) -> None:
        """obstore's own threads do not survive the fork."""
        path = packed(10, shards=2)
        code = """
import os, sys
from danlu_accel.records import IndexTFRDataset, LoaderOptions, Recipe, RecordLoader
url, cache, what = sys.argv[1:]
recipe = Recipe(height=8, width=8)
if what == "RecordLoader":
    data = RecordLoader(url, "train.index", recipe, options=LoaderOptions(cache_dir=cache))
    count = lambda: sum(len(labels) for _, labels in data)
else:
    data = IndexTFRDataset(url, "train.index", recipe, cache_dir=cache)
    count = lambda: len([data[number] for number in range(len(data))])
if os.fork() == 0:
    print(count())
else:
    os.wait()
"""
        url = s3(path.parent)
        command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code, url, str(tmp_path / "c"), what]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=HANG_SECONDS)
        assert (done.stdout, done.stderr) == ("10\n", "")

    def test_what_a_forked_process_cannot_fetch_is_named(
        self, packed: Callable[..., Path], s3: Callable[[Path], str], tmp_path: Path
    ) -> None:
        path = packed(10, shards=1)
        url = s3(path.parent)
        dataset = IndexTFRDataset(url, path.name, SMALL, cache_dir=tmp_path / "c")
        path.with_suffix(".tfrecord").unlink()
        workers = torch.utils.data.DataLoader(cast(Any, dataset), 5, num_workers=1, multiprocessing_context="fork")
        with pytest.raises(BadRecordFile, match=r"cannot fetch s3://.*/train\.tfrecord"):
            list(workers)

    @pytest.mark.parametrize("method", ["fork", "spawn"])
    def test_a_data_set_in_workers(
        self, packed: Callable[..., Path], s3: Callable[[Path], str], tmp_path: Path, method: str
    ) -> None:
        path = packed(12, shards=3)
        dataset = IndexTFRDataset(s3(path.parent), path.name, SMALL, cache_dir=tmp_path / "c", cache_bytes=1)
        here = IndexTFRDataset(path.parent, path.name, SMALL)
        workers = torch.utils.data.DataLoader(cast(Any, dataset), 4, num_workers=2, multiprocessing_context=method)
        assert [label for _, labels in workers for label in labels.tolist()] == here.targets
        assert len(list((tmp_path / "c").rglob("*.tfrecord"))) <= 2  # one for each worker: the limit holds none

    def test_a_missing_index_is_named(self, s3: Callable[[Path], str], tmp_path: Path) -> None:
        (tmp_path / "bucket").mkdir()
        url = s3(tmp_path / "bucket")
        with pytest.raises(BadRecordFile, match=r"train\.index"):
            RecordLoader(url, "train.index", SMALL, options=LoaderOptions(cache_dir=tmp_path / "cache"))


class TestHttp:
    def test_only_what_the_order_wants_is_fetched(
        self, packed: Callable[..., Path], serve: Callable[..., str], tmp_path: Path
    ) -> None:
        path = packed(60, shards=20)
        url = serve("http", path.parent)
        with RecordLoader(
            url,
            path.name,
            SMALL,
            batch_size=2,
            options=LoaderOptions(cache_dir=tmp_path / "c", window_shards=2, prefetch=1),
        ) as loader:
            next(iter(loader))
        assert 0 < len(list((tmp_path / "c").rglob("*.tfrecord"))) <= 8

    def test_a_shard_of_another_size_is_refused(
        self, packed: Callable[..., Path], serve: Callable[..., str], tmp_path: Path
    ) -> None:
        path = packed(4, shards=1)
        shard = path.with_suffix(".tfrecord")
        shard.write_bytes(shard.read_bytes()[:-9])
        url = serve("http", path.parent)
        with (
            RecordLoader(url, path.name, SMALL, options=LoaderOptions(cache_dir=tmp_path / "c")) as loader,
            pytest.raises(BadRecordFile),
        ):
            list(loader)


def check_both_loaders(url: str, name: str, samples: str, cache: Path) -> None:
    """Four images come from a folder of shards, and from the same shards as samples."""
    options = LoaderOptions(cache_dir=cache)
    with RecordLoader(url, name, SMALL, options=options) as loader:
        assert sum(len(labels) for _, labels in batches(loader)) == 4
    with SampleLoader(samples, SampleRecipe(fields=["cls"]), options=options) as loader:
        assert sum(len(batch["cls"]) for batch in loader) == 4


class TestNames:
    """What a user may call a file."""

    NAMES = ("my train", "a#1", "b?2", "c%20d", "e&f=g+h", "训练", "100%")

    @pytest.mark.parametrize("name", NAMES)
    def test_over_http(
        self, packed: Callable[..., Path], http_folder: Callable[..., str], tmp_path: Path, name: str
    ) -> None:
        path = packed(4, shards=2, name=name)
        url = http_folder(path.parent)
        check_both_loaders(url, path.name, f"{url}/{quote(path.name)}", tmp_path / "c")

    @pytest.mark.parametrize("name", NAMES)
    def test_over_s3(self, packed: Callable[..., Path], s3: Callable[[Path], str], tmp_path: Path, name: str) -> None:
        path = packed(4, shards=2, name=name)
        url = s3(path.parent)
        check_both_loaders(url, path.name, f"{url}/{path.name}", tmp_path / "c")


class TestCache:
    def test_loaders_that_fetch_the_same_shard_at_once_do_not_collide(
        self, packed: Callable[..., Path], http_folder: Callable[..., str], tmp_path: Path
    ) -> None:
        path = packed(6, shards=1)
        both_are_in_the_middle = threading.Barrier(2, timeout=HANG_SECONDS)

        def meet(name: str) -> None:
            if name.endswith(".tfrecord"):
                both_are_in_the_middle.wait()

        url = http_folder(path.parent, meet)
        options = LoaderOptions(cache_dir=tmp_path / "c")
        loaders = [RecordLoader(url, path.name, SMALL, batch_size=6, options=options) for _ in range(2)]
        with ThreadPoolExecutor(2) as threads:
            found = list(threads.map(batches, loaders))
        for loader in loaders:
            loader.close()
        assert found[0][0][1] == found[1][0][1]
        folder = next((tmp_path / "c").glob("*/*"))
        assert sorted(file.name for file in folder.glob("[!.]*")) == ["train.index", "train.tfrecord"]

    def test_a_fetch_that_fails_leaves_nothing_behind(
        self, packed: Callable[..., Path], http_folder: Callable[..., str], tmp_path: Path
    ) -> None:
        path = packed(6, shards=1)
        url = http_folder(path.parent)
        shard = path.with_suffix(".tfrecord")
        shard.write_bytes(shard.read_bytes() + b"more")
        options = LoaderOptions(cache_dir=tmp_path / "c")
        with RecordLoader(url, path.name, SMALL, options=options) as loader, pytest.raises(BadRecordFile, match="got"):
            list(loader)
        folder = next((tmp_path / "c").glob("*/*"))
        assert [file.name for file in folder.glob("[!.]*")] == ["train.index"]
        assert not list(folder.glob("*.partial"))


@pytest.mark.parametrize("how", [SMALL, to_size], ids=["recipe", "transform"])
class TestDamagedCache:
    """What lies in the cache and is not what was fetched is fetched again."""

    @pytest.fixture
    def fetched(
        self, packed: Callable[..., Path], http_folder: Callable[..., str], tmp_path: Path
    ) -> Callable[..., Any]:
        """Fetch a data set of one shard; return its shard, the copy in the cache, and a function that makes loaders."""
        path = packed(12, shards=1)
        url = http_folder(path.parent)

        def make(how: Any) -> tuple[Path, Path, Callable[[], RecordLoader]]:
            def loader() -> RecordLoader:
                options = LoaderOptions(cache_dir=tmp_path / "c", prefetch=1)
                return RecordLoader(url, path.name, how, batch_size=5, options=options)

            with loader() as first:
                list(first)
            return path.with_suffix(".tfrecord"), next((tmp_path / "c").rglob("*.tfrecord")), loader

        return make

    @pytest.mark.parametrize("at", [3, 700, -2])
    def test_a_flipped_bit(self, fetched: Callable[..., Any], how: Any, at: int) -> None:
        shard, copy, make = fetched(how)
        with make() as loader:
            expected = batches(loader)
        flip(copy, at)
        with make() as loader:
            found = batches(loader)
            assert loader.statistics().images_by_pillow == (0 if how is SMALL and native.core else 12)
        assert all(torch.equal(a, c) and b == d for (a, b), (c, d) in zip(expected, found))
        assert copy.read_bytes() == shard.read_bytes()

    def test_a_copy_that_shrinks_while_it_is_read(self, fetched: Callable[..., Any], how: Any) -> None:
        shard, copy, make = fetched(how)
        with make() as loader:
            iterator = iter(loader)
            first = next(iterator)[1].tolist()
            os.truncate(copy, 100)
            assert len(first + [label for _, labels in iterator for label in labels]) == 12
        assert copy.read_bytes() == shard.read_bytes()

    def test_a_copy_that_somebody_removed(self, fetched: Callable[..., Any], how: Any) -> None:
        shard, copy, make = fetched(how)
        with make() as loader:
            list(loader)
            loader.close()
            copy.unlink()
            assert len(batches(loader)) == 3
        assert copy.read_bytes() == shard.read_bytes()

    def test_damage_at_the_source_is_an_error(self, fetched: Callable[..., Any], how: Any) -> None:
        shard, copy, make = fetched(how)
        for path in (shard, copy):
            flip(path, 700)
        with make() as loader, pytest.raises(BadRecordFile, match=r"checksum.*the same where it comes from"):
            list(loader)

    def test_a_source_that_is_gone_is_named(self, fetched: Callable[..., Any], how: Any) -> None:
        shard, copy, make = fetched(how)
        flip(copy, 700)
        shard.unlink()
        with make() as loader, pytest.raises(BadRecordFile, match=r"checksum.*cannot fetch http://.*404"):
            list(loader)


def test_an_unknown_kind_of_url_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="ftp://x"):
        RecordLoader("ftp://x/y", "train.index", options=LoaderOptions(cache_dir=tmp_path))
