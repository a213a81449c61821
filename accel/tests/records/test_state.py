"""A saved state names the order: whoever goes on from it gives every record once, or refuses it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from danlu_accel.records import LoaderOptions, Recipe, RecordLoader, list_images, pack, sources_from_list

TINY = Recipe(height=8, width=8)


def take(loader: RecordLoader, steps: int | None = None) -> list[int]:
    found: list[int] = []
    for number, (_, labels) in enumerate(loader, 1):
        found += labels.tolist()
        if number == steps:
            break
    return found


def saved(loader: RecordLoader) -> dict[str, Any]:
    state: dict[str, Any] = json.loads(json.dumps(loader.state_dict()))
    return state


class TestTakenOver:
    def test_local_shards_then_the_same_over_the_network(
        self, numbered: Callable[..., Path], http_folder: Callable[..., str], tmp_path: Path
    ) -> None:
        path = numbered()
        url = http_folder(path.parent)
        with RecordLoader(path.parent, path.name, TINY, batch_size=4) as local:
            before, state = take(local, 6), saved(local)
        options = LoaderOptions(cache_dir=tmp_path / "c")
        with RecordLoader(url, path.name, TINY, batch_size=4, options=options) as remote:
            remote.load_state_dict(state)
            after = take(remote)
        assert sorted(before + after) == list(range(53))

    @pytest.mark.parametrize("shuffles", [(True, False), (False, True)])
    def test_whether_records_are_shuffled(self, numbered: Callable[..., Path], shuffles: tuple[bool, bool]) -> None:
        path = numbered()
        with RecordLoader(path.parent, path.name, TINY, batch_size=4, shuffle=shuffles[0]) as first:
            before, state = take(first, 6), saved(first)
        with RecordLoader(path.parent, path.name, TINY, batch_size=4, shuffle=shuffles[1]) as second:
            second.load_state_dict(state)
            assert sorted(before + take(second)) == list(range(53))

    def test_seed_and_window(self, numbered: Callable[..., Path]) -> None:
        path = numbered()
        options = LoaderOptions(seed=5, window_shards=3)
        with RecordLoader(path.parent, path.name, TINY, batch_size=4, options=options) as first:
            before, state = take(first, 6), saved(first)
            rest = take(first)
        with RecordLoader(path.parent, path.name, TINY, batch_size=4) as second:
            second.load_state_dict(state)
            assert take(second) == rest
            assert "shuffle within 3 shards" in second.explain()
        assert sorted(before + rest) == list(range(53))

    def test_the_next_epoch_is_that_of_the_first_loader(self, numbered: Callable[..., Path]) -> None:
        path = numbered()
        options = LoaderOptions(seed=5, window_shards=3)
        with RecordLoader(path.parent, path.name, TINY, batch_size=4, options=options) as first:
            take(first)
            state, epoch = saved(first), take(first)
        with RecordLoader(path.parent, path.name, TINY, batch_size=4) as second:
            second.load_state_dict(state)
            assert take(second) == epoch

    def test_indexed_on_the_fly_is_the_same_data_set(self, numbered: Callable[..., Path]) -> None:
        path = numbered()
        with RecordLoader(path.parent, path.name, TINY, batch_size=4) as first:
            state = saved(first)
        with RecordLoader(path.parent, "train-*.tfrecord", TINY, batch_size=4) as second:
            assert saved(second) == state


class TestRefused:
    def test_another_data_set(self, numbered: Callable[..., Path]) -> None:
        path, other = numbered(53), numbered(54, name="other")
        with (
            RecordLoader(path.parent, path.name, TINY) as first,
            RecordLoader(other.parent, other.name, TINY) as second,
            pytest.raises(ValueError, match="data of the loader state: expected"),
        ):
            second.load_state_dict(saved(first))

    def test_the_same_images_in_another_order(self, tmp_path: Path, photo_folder: Callable[..., Path]) -> None:
        folder = photo_folder(12)
        images, _ = list_images(folder)
        for name, order in (("a", images), ("b", images[::-1])):
            pack(folder, sources_from_list(order), tmp_path / "packed" / name)
        with (
            RecordLoader(tmp_path / "packed", "a.index", TINY) as first,
            RecordLoader(tmp_path / "packed", "b.index", TINY) as second,
            pytest.raises(ValueError, match="data of the loader state"),
        ):
            second.load_state_dict(saved(first))

    def test_a_state_that_does_not_name_the_order(self, numbered: Callable[..., Path]) -> None:
        path = numbered()
        old = {"version": 1, "seed": 0, "epoch": 3, "position": 24}
        with (
            RecordLoader(path.parent, path.name, TINY) as loader,
            pytest.raises(ValueError, match=r"got 1, .*set_epoch\(3\)"),
        ):
            loader.load_state_dict(old)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("position", -1),
            ("position", 54),
            ("position", 1.0),
            ("epoch", None),
            ("epoch", -1),
            ("seed", "1"),
            ("shuffle", 1),
            ("window_shards", True),
            ("data", 7),
            ("version", 3),
        ],
    )
    def test_a_value_that_makes_no_sense_is_named(self, numbered: Callable[..., Path], name: str, value: Any) -> None:
        path = numbered()
        with RecordLoader(path.parent, path.name, TINY) as loader:
            with pytest.raises(ValueError, match=f"{name}.*: expected .*, got "):
                loader.load_state_dict({**saved(loader), name: value})
            assert saved(loader)["position"] == 0
