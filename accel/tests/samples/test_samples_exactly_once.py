"""Any split of the stream over sources, ranks, threads and restarts gives every sample once, or an error."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from danlu_accel.records import LoaderOptions
from danlu_accel.samples import SampleLoader, SampleRecipe, SampleSource, index_samples, pack_samples

KINDS = {"tar": 61, "lines": 47, "sound": 20, "images": 30}
"""Kinds of data sets, and how many samples each has."""
MIXED_EPOCH = 200


@dataclass(frozen=True)
class Part:
    """What runs from one restart to the next."""

    source: str
    world_size: int
    batch_size: int
    steps: int
    shuffle: bool
    options: dict[str, Any]


parts = st.builds(
    Part,
    source=st.sampled_from(["folder", "http", "s3"]),
    world_size=st.integers(1, 4),
    batch_size=st.integers(1, 6),
    steps=st.integers(0, 8),
    shuffle=st.booleans(),
    options=st.fixed_dictionaries(
        {
            "seed": st.integers(0, 3),
            "window_shards": st.sampled_from([None, 0, 1, 2, 20]),
            "threads": st.integers(1, 3),
            "prefetch": st.integers(1, 3),
            "read_ahead": st.sampled_from([None, 2]),
            "cache_bytes": st.sampled_from([None, 0, 20_000]),
            "drop_last": st.booleans(),
        }
    ),
)
Places = Callable[[str, str], str]


@pytest.fixture(scope="module")
def places(
    tmp_path_factory: pytest.TempPathFactory,
    numbered: Callable[..., Path],
    write_tar: Callable[..., Path],
    http_folder: Callable[..., str],
    serve: Callable[..., str],
) -> Any:
    """Return a function from a kind and a source to the place of a data set; the first number of a sample names it."""
    pytest.importorskip("obstore")
    root = tmp_path_factory.mktemp("samples")
    folders = {kind: root / kind for kind in KINDS if kind != "images"}
    for folder in folders.values():
        folder.mkdir()
    for shard in range(7):
        rows = range(shard, KINDS["tar"], 7)
        members = [(f"d/{n}.{field}", data) for n in rows for field, data in (("txt", b"%d" % n), ("bin", bytes(n)))]
        write_tar(folders["tar"] / f"{shard}.tar", members)
        lines = [json.dumps({"text": "x" * n, "number": n}) for n in range(shard, KINDS["lines"], 7)]
        (folders["lines"] / f"{shard}.jsonl").write_text("\n".join(lines))
    index_samples(folders["tar"].glob("*.tar"), folders["tar"] / "train")
    index_samples(folders["lines"].glob("*.jsonl"), folders["lines"] / "train")
    pack_samples(
        folders["sound"] / "train", ({"txt": str(n), "raw": bytes(100_000)} for n in range(20)), shard_megabytes=1
    )
    paths = {kind: folder / "train.samples" for kind, folder in folders.items()}
    images = numbered(KINDS["images"], 5)
    paths["images"] = images
    bucket = root.parent
    with pytest.MonkeyPatch.context() as environment:
        for name, value in {"ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret", "REGION": "us-east-1"}.items():
            environment.setenv(f"AWS_{name}", value)
        environment.setenv("AWS_ENDPOINT_URL", serve("s3", bucket))
        over_http = http_folder(bucket)

        def place(kind: str, source: str) -> str:
            inside = paths[kind].relative_to(bucket)
            return {"folder": str(paths[kind]), "http": f"{over_http}/{inside}", "s3": f"s3://{inside}"}[source]

        yield place


def number_of(sample: dict[str, Any]) -> int:
    for field in ("txt", "cls"):
        if field in sample:
            return int(sample[field])
    return int(sample["json"]["number"])


RECIPE = SampleRecipe(transform=number_of)


def run(source: Any, part: Part, cache: Path, state: Any, length: int | None = None) -> tuple[list[int], Any]:
    """Let all ranks take the steps of one part; return the samples, and the state, which must be one for all ranks."""
    seen: list[int] = []
    states = []
    for rank in range(part.world_size):
        options = LoaderOptions(rank=rank, world_size=part.world_size, cache_dir=cache, **part.options)
        more: dict[str, Any] = {"batch_size": part.batch_size, "shuffle": part.shuffle, "epoch_samples": length}
        with SampleLoader(source, RECIPE, options=options, **more) as loader:
            if state is not None:
                loader.load_state_dict(state)
            for batch in islice(loader, part.steps):
                seen += batch.tolist()
            states.append(json.loads(json.dumps(loader.state_dict())))
    assert all(each == states[0] for each in states)
    return seen, states[0]


@given(kind=st.sampled_from(list(KINDS)), restarts=st.lists(parts, min_size=1, max_size=3))
@settings(max_examples=30, deadline=None)
def test_every_sample_comes_once(
    places: Places, tmp_path_factory: pytest.TempPathFactory, kind: str, restarts: list[Part]
) -> None:
    cache = tmp_path_factory.mktemp("cache")
    count = KINDS[kind]
    state: Any = None
    seen: list[int] = []
    last: Part | None = None
    for part in [*restarts, Part(**{**restarts[-1].__dict__, "steps": 1000})]:
        found, state = run(places(kind, part.source), part, cache, state)
        if last is None and (state["epoch"] == 1 or state["position"] == count):
            last = part
        seen += found
        if state["epoch"] == 1:
            break
    assert last is not None
    times = Counter(seen)
    if last.options["drop_last"]:
        assert max(times.values(), default=1) == 1
        assert count - len(times) < last.batch_size * last.world_size
    else:
        assert set(times) == set(range(count))
        assert len(seen) - count < last.world_size  # the last step is filled up where it does not divide


@given(restarts=st.lists(parts, min_size=1, max_size=3))
@settings(max_examples=15, deadline=None)
def test_a_mixture_is_the_same_however_it_is_split(
    places: Places, tmp_path_factory: pytest.TempPathFactory, restarts: list[Part]
) -> None:
    """Of three data sets by weight: what all parts give is what one run from end to end gives."""
    cache = tmp_path_factory.mktemp("cache")

    def sources(where: str) -> list[SampleSource]:
        return [SampleSource(places(kind, where), weight) for kind, weight in (("tar", 3), ("lines", 2), ("images", 1))]

    first = restarts[0]
    whole = Part("folder", 1, 7, 1000, first.shuffle, {"seed": first.options["seed"], "window_shards": 0})
    expected, _ = run(sources("folder"), whole, cache, None, MIXED_EPOCH)
    assert len(expected) == MIXED_EPOCH
    state: Any = None
    seen: list[int] = []
    for number, part in enumerate([*restarts, Part(**{**restarts[-1].__dict__, "steps": 1000})]):
        window = {"window_shards": 0} if number == 0 else {}
        part = Part(**{**part.__dict__, "options": {**part.options, **window, "drop_last": False}})  # noqa: PLW2901
        found, state = run(sources(part.source), part, cache, state, MIXED_EPOCH)
        seen += found
        if state["epoch"] == 1:
            break
    too_many = Counter(seen) - Counter(expected)
    assert not Counter(expected) - Counter(seen)
    assert sum(too_many.values()) <= 3  # the last step is filled up where it does not divide, for four ranks at most


class TestRefused:
    def test_another_data_set_another_weight_and_another_kind(self, places: Places) -> None:
        with SampleLoader(places("tar", "folder")) as loader:
            state = loader.state_dict()
        with (
            SampleLoader(places("lines", "folder")) as other,
            pytest.raises(ValueError, match=r"epoch_samples of the loader state: expected 47.*got 61"),
        ):
            other.load_state_dict(state)
        with (
            SampleLoader(places("tar", "folder")) as loader,
            pytest.raises(ValueError, match="kind of the loader state: expected 'samples', got 'tokens'"),
        ):
            loader.load_state_dict({**state, "kind": "tokens"})
        sources = [SampleSource(places("tar", "folder"), 1), SampleSource(places("lines", "folder"), 1)]
        with SampleLoader(sources, epoch_samples=50) as loader:
            state = loader.state_dict()
        heavier = [sources[0], SampleSource(places("lines", "folder"), 2)]
        with (
            SampleLoader(heavier, epoch_samples=50) as loader,
            pytest.raises(ValueError, match="share of set 0 of the loader state"),
        ):
            loader.load_state_dict(state)

    def test_boxes_are_left_to_record_loader(self, tmp_path: Path, photo: Callable[..., bytes]) -> None:
        from danlu_accel.records import pack, sources_from_coco

        (tmp_path / "a.jpg").write_bytes(photo())
        coco = {"images": [{"id": 1, "file_name": "a.jpg", "width": 96, "height": 64}], "annotations": []}
        (tmp_path / "coco.json").write_text(json.dumps({**coco, "categories": []}))
        sources, classes = sources_from_coco(tmp_path / "coco.json")
        path = pack(tmp_path, sources, tmp_path / "train", classes=classes, kind="coco").index_path
        with pytest.raises(ValueError, match="expected images with classes, got boxes"):
            SampleLoader(path)


def test_a_shard_that_shrinks_while_it_is_read_is_an_error(tmp_path: Path) -> None:
    pack_samples(tmp_path / "train", ({"txt": "x" * 3000} for _ in range(200)))
    with SampleLoader(tmp_path / "train.samples", batch_size=2) as loader:
        next(iter(loader))
        with (tmp_path / "train-00000.tar").open("r+b") as file:
            file.truncate(100)
        from danlu_accel.records.errors import BadRecordFile

        with pytest.raises(BadRecordFile, match="fails its checksum; the file was cut"):
            list(loader)
