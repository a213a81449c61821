"""Adding up by the book."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu.bench.aggregate import Aggregate, aggregate, worse_by
from danlu.bench.results import RankResult
from danlu.bench.suite import Better, Measure, Mode, OverRanks


def make_results(values: list[float], *, per_server: int) -> dict[int, RankResult]:
    return {
        rank: RankResult(
            rank=rank,
            num_ranks=len(values),
            server=rank // per_server,
            node=f"node-{rank // per_server}",
            metrics={"throughput": value},
        )
        for rank, value in enumerate(values)
    }


def added(values: list[float], *, per_server: int, mode: Mode, measure: Measure | None = None) -> Aggregate:
    results = make_results(values, per_server=per_server)
    found = aggregate(results, "throughput", measure=measure or Measure(), mode=mode, outlier=0.1)
    assert found is not None
    return found


class TestModes:
    def test_normal_is_the_sum_over_all_ranks(self) -> None:
        found = added([10, 20, 30, 40], per_server=2, mode=Mode.NORMAL)
        assert found.value == 100

    def test_single_server_is_the_sum_per_server_and_then_the_mean(self) -> None:
        """The example of AIS-Bench: two servers of eight cards."""
        found = added([450.77 / 8] * 8 + [450.38 / 8] * 8, per_server=8, mode=Mode.SINGLE_SERVER)
        assert round(found.value, 2) == 450.57 or round(found.value, 2) == 450.58
        assert [round(one.value, 2) for one in found.servers] == [450.77, 450.38]

    @given(st.lists(st.floats(1, 1e6), min_size=1, max_size=12), st.integers(1, 8))
    def test_the_mean_over_servers_times_servers_is_the_sum(self, one_server: list[float], servers: int) -> None:
        values = one_server * servers
        single = added(values, per_server=len(one_server), mode=Mode.SINGLE_SERVER)
        normal = added(values, per_server=len(one_server), mode=Mode.NORMAL)
        assert single.value * servers == pytest.approx(normal.value)

    def test_the_slowest_rank_counts_where_the_suite_says_so(self) -> None:
        measure = Measure(over_ranks=OverRanks.MIN)
        assert added([5, 3, 4], per_server=1, mode=Mode.NORMAL, measure=measure).value == 3

    def test_nothing_measured_is_no_number(self) -> None:
        assert aggregate({}, "throughput", measure=Measure(), mode=Mode.NORMAL, outlier=0.1) is None


class TestNames:
    def test_the_slowest_server_and_the_rank_far_from_the_others_are_named(self) -> None:
        found = added([100, 101, 99, 70], per_server=1, mode=Mode.SINGLE_SERVER)
        assert found.outliers == [3]
        assert found.slowest is not None
        assert (found.slowest.server, found.slowest.node, found.slowest.value) == (3, "node-3", 70)
        assert [one.server for one in found.slow] == [3]

    def test_slow_means_high_where_low_is_better(self) -> None:
        measure = Measure(better=Better.LOWER, over_ranks=OverRanks.MAX)
        found = added([10, 10, 20], per_server=1, mode=Mode.NORMAL, measure=measure)
        assert [one.server for one in found.slow] == [2]

    def test_equal_servers_are_not_slow(self) -> None:
        found = added([100, 98, 102, 101], per_server=2, mode=Mode.SINGLE_SERVER)
        assert (found.outliers, found.slow) == ([], [])

    def test_one_server_has_no_slowest(self) -> None:
        assert added([1, 2], per_server=2, mode=Mode.NORMAL).slowest is None


def test_worse_by() -> None:
    assert worse_by(80, 100, better=Better.HIGHER) == pytest.approx(0.2)
    assert worse_by(80, 100, better=Better.LOWER) == pytest.approx(-0.2)
    assert worse_by(80, 0, better=Better.HIGHER) is None
