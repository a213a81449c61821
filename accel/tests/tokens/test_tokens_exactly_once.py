"""Any split of the stream over sources, ranks, threads and restarts gives every document once, or an error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from danlu_accel.records import LoaderOptions
from danlu_accel.records.cache import list_copies, make_room, note_use
from danlu_accel.records.files import whole_file
from danlu_accel.records.mixture import BLOCK, Mixture, shares_of
from danlu_accel.tokens import Packing, TokenLoader, TokenSource, pack_tokens

LENGTH = 30


@dataclass(frozen=True)
class Part:
    """What runs from one restart to the next."""

    is_remote: bool
    world_size: int
    batch_size: int
    steps: int
    shuffle: bool
    options: dict[str, Any]


parts = st.builds(
    Part,
    is_remote=st.booleans(),
    world_size=st.integers(1, 4),
    batch_size=st.integers(1, 5),
    steps=st.integers(0, 9),
    shuffle=st.booleans(),
    options=st.fixed_dictionaries(
        {
            "seed": st.integers(0, 3),
            "window_shards": st.sampled_from([None, 0, 1, 2]),
            "threads": st.integers(1, 3),
            "cache_bytes": st.sampled_from([None, 0, 5000]),
            "drop_last": st.booleans(),
        }
    ),
)


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory, http_folder: Any) -> dict[bool, str]:
    """The same documents here and behind a URL, in six shards; the first token of each names it."""
    folder = tmp_path_factory.mktemp("tokens")
    lengths = np.random.default_rng(1).integers(1, LENGTH, 90)
    shards = [
        pack_tokens(folder / f"part{number}", [np.full(n, 15 * number + k) for k, n in enumerate(part)])
        for number, part in enumerate(np.split(lengths, 6))
    ]
    join(folder, shards)
    return {False: str(folder / "train.tokens"), True: f"{http_folder(folder)}/train.tokens"}


def join(folder: Path, indexes: list[Any]) -> None:
    """One index over several: pack_tokens makes shards of a megabyte at least, and this wants small ones."""
    from danlu_accel.tokens.index import TokenIndex, write_token_index

    joined = TokenIndex(
        tuple(shard for each in indexes for shard in each.shards),
        tuple(count for each in indexes for count in each.documents),
        2,
        np.concatenate([each.lengths for each in indexes]),
        np.concatenate([each.checksums for each in indexes]),
    )
    write_token_index(folder / "train.tokens", joined)


def run(place: str, part: Part, packing: Packing, cache: Path, state: Any) -> tuple[list[int], Any]:
    """Let all ranks take the steps of one part; return the documents' tokens, and the state, one for all ranks."""
    seen: list[int] = []
    states = []
    for rank in range(part.world_size):
        options = LoaderOptions(rank=rank, world_size=part.world_size, cache_dir=cache, **part.options)
        with TokenLoader(place, packing, batch_size=part.batch_size, shuffle=part.shuffle, options=options) as loader:
            if state is not None:
                loader.load_state_dict(state)
            for batch in islice(loader, part.steps):
                for row, length in zip(batch.tokens.tolist(), batch.lengths.tolist()):
                    seen += row[:length]
            states.append(json.loads(json.dumps(loader.state_dict())))
    assert all(each == states[0] for each in states)
    return seen, states[0]


@given(split=st.booleans(), restarts=st.lists(parts, min_size=1, max_size=3))
@settings(max_examples=30, deadline=None)
def test_every_document_comes_once(
    sets: dict[bool, str], tmp_path_factory: pytest.TempPathFactory, split: bool, restarts: list[Part]
) -> None:
    cache = tmp_path_factory.mktemp("cache")
    packing = Packing(LENGTH, split_documents=split)
    expected = Counter(np.repeat(np.arange(90), np.random.default_rng(1).integers(1, LENGTH, 90)).tolist())
    state: Any = None
    seen: list[int] = []
    last: Part | None = None
    for part in [*restarts, Part(**{**restarts[-1].__dict__, "steps": 1000})]:
        found, state = run(sets[part.is_remote], part, packing, cache, state)
        if last is None and (state["epoch"] == 1 or state["position"] == state["epoch_sequences"]):
            last = part
        seen += found
        if state["epoch"] == 1:
            break
    assert last is not None
    times = Counter(seen)
    twice = sum((times - expected).values())
    missing = sum((expected - times).values())
    if last.options["drop_last"]:
        assert twice == 0
        assert missing <= last.batch_size * last.world_size * LENGTH
    else:
        assert missing == 0
        assert twice <= (last.world_size - 1) * LENGTH  # the last step is filled up where it does not divide


class TestCache:
    def test_it_stays_below_its_limit_and_everything_comes(self, sets: dict[bool, str], tmp_path: Path) -> None:
        options = LoaderOptions(cache_dir=tmp_path, cache_bytes=1, window_shards=1, threads=1)
        num_shards = set()
        # sequences so long that each shard is one, and is made by itself
        with TokenLoader(sets[True], Packing(1 << 18), batch_size=1, options=options) as loader:
            for _ in range(2):
                assert len(list(loader)) == len(loader)
                num_shards.add(len(list(tmp_path.glob("*/*/*.bin"))))
        assert max(num_shards) < 6  # what was being read, and the next ones

    def test_without_a_limit_everything_stays(self, sets: dict[bool, str], tmp_path: Path) -> None:
        with TokenLoader(sets[True], Packing(LENGTH), options=LoaderOptions(cache_dir=tmp_path)) as loader:
            list(loader)
        assert len(list(tmp_path.glob("*/*/*.bin"))) == 6

    def test_a_set_of_a_mixture_is_fetched_in_the_order_of_its_own_epochs(
        self, http_folder: Any, tmp_path: Path
    ) -> None:
        num_shards, num_epochs = 20, 3
        folder = tmp_path / "many"
        join(folder, [pack_tokens(folder / f"part{number:02d}", [[number]]) for number in range(num_shards)])
        fetched: list[str] = []
        url = http_folder(folder, fetched.append)
        pack_tokens(tmp_path / "other", [[num_shards]])
        sources = [TokenSource(f"{url}/train.tokens"), TokenSource(tmp_path / "other.tokens")]
        options = LoaderOptions(cache_dir=tmp_path / "c", cache_bytes=1, window_shards=1, threads=1, prefetch=1)
        length = 2 * num_epochs * num_shards
        # sequences so long that each shard is one, and is made by itself
        with TokenLoader(sources, Packing(1 << 18), batch_size=1, epoch_sequences=length, options=options) as loader:
            seen = Counter(int(batch.tokens[0, 0]) for batch in loader)
        assert max(seen[number] for number in range(num_shards)) > 2
        for number in range(num_shards):  # what was fetched ahead at the very end never came
            name = f"/part{number:02d}-00000.bin"
            assert fetched.count(name) <= seen[number] + 1

    def test_the_copy_used_longest_ago_goes_first(self, tmp_path: Path) -> None:
        folder = tmp_path / "url" / "index"
        folder.mkdir(parents=True)
        list_copies(folder, "0123")
        for number in range(4):
            (folder / str(number)).write_bytes(bytes(10))
            os.utime(folder / str(number), (number, number))
        note_use(folder / "0")
        assert make_room(tmp_path, 25, [folder / "1"]) == [folder / "2", folder / "3"]
        assert sorted(path.name for path in folder.glob("[!.]*")) == ["0", "1"]

    def test_files_of_others_are_neither_counted_nor_removed(self, sets: dict[bool, str], tmp_path: Path) -> None:
        others = [tmp_path / name for name in ("a/b/c.txt", "a/d", "e", f"{'0' * 16}/{'1' * 16}/f.bin")]
        options = LoaderOptions(cache_dir=tmp_path, cache_bytes=1, window_shards=1, threads=1)
        for path in others:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(bytes(100))
            os.utime(path, (1, 1))
        with TokenLoader(sets[True], Packing(LENGTH), options=options) as loader:
            list(loader)
            beside = next(tmp_path.glob("*/*/*.bin")).with_name("mine.bin")
            beside.write_bytes(bytes(100))
            os.utime(beside, (1, 1))
            list(loader)
        assert all(path.is_file() for path in [*others, beside])

    def test_what_a_lost_process_had_begun_is_removed(self, sets: dict[bool, str], tmp_path: Path) -> None:
        options = LoaderOptions(cache_dir=tmp_path)
        with TokenLoader(sets[True], Packing(LENGTH), options=options) as loader:
            list(loader)
        folder = next(tmp_path.glob("*/*"))
        code = (
            "import os, pathlib, sys; from danlu_accel.records.files import whole_file\n"
            "with whole_file(pathlib.Path(sys.argv[1])) as file: file.write(bytes(9)); file.flush(); os._exit(0)"
        )
        subprocess.run([sys.executable, "-c", code, str(folder / "x.bin")], check=True)
        lost = list(folder.glob(".*.partial"))
        assert len(lost) == 1
        with whole_file(folder / "part0-00000.bin") as file:  # somebody is at it
            file.write(b"half")
            with TokenLoader(sets[True], Packing(LENGTH), options=options) as loader:
                assert len(loader)
            assert len(list(folder.glob(".*.partial"))) == 1
            assert make_room(tmp_path, 0, []) != []
            assert len(list(folder.glob(".*.partial"))) == 1
        assert not lost[0].exists()
        assert (folder / "part0-00000.bin").read_bytes() == b"half"

    def test_a_copy_that_another_process_removed_is_fetched_again(self, sets: dict[bool, str], tmp_path: Path) -> None:
        options = LoaderOptions(cache_dir=tmp_path)
        with TokenLoader(sets[True], Packing(LENGTH), options=options) as loader:
            before = [batch.tokens.clone() for batch in loader]
            for path in tmp_path.glob("*/*/*.bin"):
                path.unlink()
        with TokenLoader(sets[True], Packing(LENGTH), options=options) as loader:
            assert all(one.equal(other.tokens) for one, other in zip(before, loader))


def test_a_bucket_gives_what_the_folder_gives(
    sets: dict[bool, str], serve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("obstore")
    folder = Path(sets[False]).parent
    for name, value in {"ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret", "REGION": "us-east-1"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", serve("s3", folder.parent))
    options = LoaderOptions(cache_dir=tmp_path, window_shards=0)
    remote = TokenLoader(f"s3://{folder.name}/train.tokens", Packing(LENGTH), options=options)
    with remote, TokenLoader(sets[False], Packing(LENGTH)) as local:
        assert remote.state_dict() == local.state_dict()
        assert all(one.tokens.equal(other.tokens) for one, other in zip(remote, local))


class TestRefused:
    def test_another_packing_or_another_data_set(self, sets: dict[bool, str], tmp_path: Path) -> None:
        with TokenLoader(sets[False], Packing(LENGTH)) as loader:
            state = loader.state_dict()
        with (
            TokenLoader(sets[False], Packing(LENGTH + 1)) as other,
            pytest.raises(ValueError, match="of the loader state: expected"),
        ):
            other.load_state_dict(state)
        pack_tokens(tmp_path / "other", [np.arange(5)] * 90)
        with (
            TokenLoader(tmp_path / "other.tokens", Packing(LENGTH)) as other,
            pytest.raises(ValueError, match="of the loader state: expected"),
        ):
            other.load_state_dict(state)

    @pytest.mark.parametrize(
        ("name", "value"),
        [("version", 9), ("kind", "images"), ("epoch", -1), ("position", 10**6), ("seed", "1"), ("sets", [])],
    )
    def test_a_value_that_makes_no_sense_is_named(self, sets: dict[bool, str], name: str, value: Any) -> None:
        with (
            TokenLoader(sets[False], Packing(LENGTH)) as loader,
            pytest.raises(ValueError, match=f"{name}.*: expected"),
        ):
            loader.load_state_dict({**loader.state_dict(), name: value})


class TestMixture:
    @given(weights=st.lists(st.floats(0.001, 100), min_size=1, max_size=8))
    def test_shares_follow_the_weights(self, weights: list[float]) -> None:
        shares = shares_of(weights)
        assert sum(shares) == BLOCK
        for share, weight in zip(shares, weights):
            assert abs(share - BLOCK * weight / sum(weights)) <= len(weights)
            assert share >= 1

    @pytest.mark.parametrize("weights", [[], [0.0], [-1.0, 2.0], [float("inf")], [float("nan")]])
    def test_a_weight_that_makes_no_sense_is_refused(self, weights: list[float]) -> None:
        with pytest.raises(ValueError, match="expected"):
            shares_of(weights)

    @given(seed=st.integers(0, 5), start=st.integers(0, 10**9))
    @settings(max_examples=20)
    def test_each_set_comes_in_its_own_order_without_a_gap(self, seed: int, start: int) -> None:
        mixture = Mixture(shares_of([5, 2, 1]), seed)
        first = start // BLOCK * BLOCK
        places, ordinals = mixture.places(np.arange(first, first + 2 * BLOCK))
        for number in range(3):
            own = np.sort(ordinals[places == number])
            assert (np.diff(own) == 1).all()

    def test_a_set_that_hardly_ever_comes_is_no_trouble(self, tmp_path: Path) -> None:
        for number in range(2):
            pack_tokens(tmp_path / str(number), [np.full(8, 1000 * number + k) for k in range(50)])
        sources = [TokenSource(tmp_path / "0.tokens", 100_000), TokenSource(tmp_path / "1.tokens", 1)]
        with TokenLoader(sources, Packing(8), batch_size=10, epoch_sequences=BLOCK - 100) as loader:
            for epoch in range(3):
                loader.set_epoch(epoch)
                assert len(list(loader)) == len(loader)

    def test_weights_decide_what_comes_and_a_restart_changes_nothing(self, tmp_path: Path) -> None:
        for number in range(2):
            pack_tokens(tmp_path / str(number), [np.full(8, 1000 * number + k) for k in range(50)])
        sources = [TokenSource(tmp_path / "0.tokens", 3), TokenSource(tmp_path / "1.tokens", 1)]
        with TokenLoader(sources, Packing(8), batch_size=10, epoch_sequences=400) as loader:
            whole = [batch.tokens[:, 0].tolist() for batch in loader]
        tokens = [token for row in whole for token in row]
        assert 270 <= sum(token < 1000 for token in tokens) <= 330
        own = Counter(token for token in tokens if token < 1000)
        assert max(own.values()) - min(own.values()) <= 1  # the set's own epochs: all once before any comes again
        options = LoaderOptions(world_size=2, seed=9)
        with TokenLoader(sources, Packing(8), batch_size=10, epoch_sequences=400) as loader:
            batches = iter(loader)
            for _ in range(7):
                next(batches)
            state = loader.state_dict()
        with TokenLoader(sources, Packing(8), batch_size=5, epoch_sequences=400, options=options) as second:
            second.load_state_dict(state)
            rest = [batch.tokens[:, 0].tolist() for batch in second]
        assert rest == [row[:5] for row in whole[7:]]  # rank 0 of 2 has the first half of what a batch was
