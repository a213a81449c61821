"""Order, sharding over ranks and resuming: properties that hold for every seed and size."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from danlu_accel.records.draws import keys_of
from danlu_accel.records.order import Order, next_step, permute

SETTINGS = settings(max_examples=60, deadline=None)


class TestPermute:
    @given(size=st.integers(1, 3000), key=st.integers(0, 2**64 - 1))
    @SETTINGS
    def test_is_a_bijection(self, size: int, key: int) -> None:
        assert sorted(permute(np.arange(size), size, key).tolist()) == list(range(size))

    @given(size=st.integers(2, 10**12), key=st.integers(0, 2**64 - 1), data=st.data())
    @SETTINGS
    def test_works_on_sizes_that_no_memory_holds(self, size: int, key: int, data: st.DataObject) -> None:
        positions = np.array(data.draw(st.lists(st.integers(0, size - 1), unique=True, max_size=20)), np.int64)
        found = permute(positions, size, key)
        assert len(set(found.tolist())) == len(positions)
        assert all(0 <= value < size for value in found)

    @pytest.mark.parametrize("size", [5, 16, 100])
    def test_every_place_is_equally_likely(self, size: int) -> None:
        trials = 4000
        first = Counter(int(permute(np.array([0]), size, int(key))[0]) for key in keys_of(1, 2, np.arange(trials)))
        expected = trials / size
        chi_square = sum((first[place] - expected) ** 2 / expected for place in range(size))
        assert chi_square < size - 1 + 5 * np.sqrt(2 * (size - 1))

    def test_neighbours_do_not_stay_neighbours(self) -> None:
        found = permute(np.arange(10_000), 10_000, 7)
        assert abs(np.corrcoef(found[:-1], found[1:])[0, 1]) < 0.05
        assert (np.diff(found) == 1).sum() < 10


class TestOrder:
    @given(
        sizes=st.lists(st.integers(0, 40), min_size=1, max_size=9).filter(lambda sizes: sum(sizes) > 0),
        window=st.integers(1, 5),
        seed=st.integers(0, 99),
        epoch=st.integers(0, 9),
    )
    @SETTINGS
    def test_a_windowed_epoch_has_every_record_once(self, sizes: list[int], window: int, seed: int, epoch: int) -> None:
        order = Order(sum(sizes), seed, epoch, True, tuple(sizes), window)
        assert sorted(order.records(np.arange(sum(sizes))).tolist()) == list(range(sum(sizes)))

    def test_a_windowed_epoch_keeps_to_its_shards(self) -> None:
        sizes = (10, 20, 5, 15)
        order = Order(50, 3, 0, True, sizes, 2)
        first, second = order.shards_in_order()[:2]
        bounds = np.concatenate([[0], np.cumsum(sizes)])
        allowed = {*range(bounds[first], bounds[first + 1]), *range(bounds[second], bounds[second + 1])}
        assert set(order.records(np.arange(len(allowed))).tolist()) == allowed

    def test_epochs_and_seeds_differ(self) -> None:
        orders = {tuple(Order(50, seed, epoch).records(np.arange(50))) for seed in range(4) for epoch in range(4)}
        assert len(orders) == 16

    def test_without_shuffle_it_is_the_packed_order(self) -> None:
        assert Order(9, 1, 1, False).records(np.arange(9)).tolist() == list(range(9))


def walk(count: int, batch: int, world: int, drop_last: bool, start: int = 0) -> tuple[list[list[int]], list[int]]:
    """All ranks step by step from `start`: what they load together per step, and the position after each step."""
    steps, after, position = [], [], start
    while True:
        found = [next_step(position, count, batch, rank, world, drop_last) for rank in range(world)]
        if found[0] is None:
            assert found == [None] * world
            return steps, after
        assert len({len(step.positions) for step in found if step}) == 1
        assert len({step.position_after for step in found if step}) == 1
        steps.append([int(p) for step in found if step for p in step.positions])
        position = found[0].position_after
        after.append(position)


class TestSharding:
    @given(count=st.integers(1, 300), batch=st.integers(1, 20), world=st.integers(1, 7))
    @SETTINGS
    def test_ranks_together_see_everything_and_little_twice(self, count: int, batch: int, world: int) -> None:
        seen = Counter(p for step in walk(count, batch, world, False)[0] for p in step)
        assert set(seen) == set(range(count))
        assert sum(seen.values()) - count < world

    @given(count=st.integers(1, 300), batch=st.integers(1, 20), world=st.integers(1, 7))
    @SETTINGS
    def test_drop_last_gives_whole_batches_without_repetition(self, count: int, batch: int, world: int) -> None:
        steps = walk(count, batch, world, True)[0]
        assert all(len(step) == batch * world for step in steps)
        assert [p for step in steps for p in step] == list(range(len(steps) * batch * world))

    @given(
        count=st.integers(1, 300),
        batch=st.integers(1, 20),
        worlds=st.tuples(st.integers(1, 7), st.integers(1, 7)),
        stop=st.integers(0, 30),
    )
    @SETTINGS
    def test_resuming_with_other_ranks_continues_exactly(
        self, count: int, batch: int, worlds: tuple[int, int], stop: int
    ) -> None:
        steps, after = walk(count, batch, worlds[0], False)
        stop = min(stop, len(steps))
        position = after[stop - 1] if stop else 0
        before = [p for step in steps[:stop] for p in step][:position]
        later = [p for step in walk(count, batch, worlds[1], False, position)[0] for p in step]
        assert before == list(range(position))
        assert later[: count - position] == list(range(position, count))
