"""Any split of an epoch over sources, ranks, threads and restarts gives every record once, or an error."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from danlu_accel.records import LoaderOptions, Recipe, RecordLoader

State = dict[str, Any]
TINY = Recipe(height=8, width=8)
SHAPES = {"one": (1, 1), "few": (7, 3), "some": (53, 9), "a shard": (40, 1)}


def own_transform(picture: Any) -> torch.Tensor:
    return torch.tensor(picture.size)


@dataclass(frozen=True)
class Part:
    """What runs from one restart to the next."""

    source: str
    world_size: int
    batch_size: int
    steps: int
    shuffle: bool
    how: Any
    options: dict[str, Any]


parts = st.builds(
    Part,
    source=st.sampled_from(["folder", "shards without an index", "http", "s3"]),
    world_size=st.integers(1, 4),
    batch_size=st.integers(1, 6),
    steps=st.integers(0, 8),
    shuffle=st.booleans(),
    how=st.sampled_from([TINY, TINY, own_transform]),
    options=st.fixed_dictionaries(
        {
            "seed": st.integers(0, 3),
            "window_shards": st.sampled_from([None, 0, 1, 2, 20]),
            "threads": st.integers(1, 3),
            "prefetch": st.integers(1, 3),
            "read_ahead": st.sampled_from([0, 2]),
            "drop_last": st.booleans(),
        }
    ),
)


@pytest.fixture(scope="module")
def places(
    numbered: Callable[..., Path], http_folder: Callable[..., str], serve: Callable[..., str]
) -> Iterator[Callable[[str, str], tuple[str, str]]]:
    """Return a function from a shape and a source to the arguments of a loader."""
    pytest.importorskip("obstore")
    folders = {shape: numbered(*counts).parent for shape, counts in SHAPES.items()}
    over_http = {shape: http_folder(folder) for shape, folder in folders.items()}
    bucket = folders["one"].parents[2]
    with pytest.MonkeyPatch.context() as environment:
        for name, value in {"ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret", "REGION": "us-east-1"}.items():
            environment.setenv(f"AWS_{name}", value)
        environment.setenv("AWS_ENDPOINT_URL", serve("s3", bucket))

        def place(shape: str, source: str) -> tuple[str, str]:
            if source == "http":
                return over_http[shape], "train.index"
            if source == "s3":
                return f"s3://{folders[shape].relative_to(bucket)}", "train.index"
            return str(folders[shape]), "train.index" if source == "folder" else "train*.tfrecord"

        yield place


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def run(
    place: tuple[str, str], part: Part, cache: Path, state: dict[str, Any] | None
) -> tuple[list[int], dict[str, Any]]:
    """Let all ranks take the steps of one part; return the records, and the state, which must be one for all ranks."""
    seen: list[int] = []
    states: list[State] = []
    for rank in range(part.world_size):
        options = LoaderOptions(rank=rank, world_size=part.world_size, cache_dir=cache, **part.options)
        loader = RecordLoader(*place, part.how, batch_size=part.batch_size, shuffle=part.shuffle, options=options)
        with loader:
            if state is not None:
                loader.load_state_dict(state)
            for _, labels in islice(loader, part.steps):
                seen += labels.tolist()
            states.append(json.loads(json.dumps(loader.state_dict())))
    assert all(each == states[0] for each in states)
    return seen, states[0]


@given(shape=st.sampled_from(list(SHAPES)), restarts=st.lists(parts, min_size=1, max_size=4))
@settings(max_examples=40, deadline=None)
def test_every_record_comes_once(places: Any, cache: Path, shape: str, restarts: list[Part]) -> None:
    count = SHAPES[shape][0]
    state: State | None = None
    seen: list[int] = []
    last: Part | None = None
    for part in [*restarts, Part(**{**restarts[-1].__dict__, "steps": 1000})]:
        found, state = run(places(shape, part.source), part, cache, state)
        if last is None and (state["position"] == count or state["epoch"] == 1):
            last = part  # it ended the epoch, or has left nothing to those who come after it
        seen += found
        if state["epoch"] == 1:  # what comes now belongs to the next one
            break
    assert last is not None
    times = Counter(seen)
    if last.options["drop_last"]:
        assert max(times.values(), default=1) == 1
        assert count - len(times) < last.batch_size * last.world_size
    else:
        assert set(times) == set(range(count))
        assert len(seen) - count < last.world_size  # the last step is filled up where it does not divide
