"""The pure parts: topology, launcher variables, pieces, splitting."""

from __future__ import annotations

import os
import socket
import threading

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.futures import Future

from danlu_accel.comm import TopologyError, read_launch, rendezvous_variables
from danlu_accel.comm.formats import FORMATS
from danlu_accel.comm.hop import split
from danlu_accel.comm.pieces import Bucket, Cutter
from danlu_accel.comm.shared import HELLO, Listener, LocalGroup, connect, reserve
from danlu_accel.comm.topology import RankReport, build_topology, find_host_key


def reports(keys, settings="s"):
    return [RankReport(key, None, settings, "") for key in keys]


class TestTopology:
    def test_ranks_are_grouped_by_key_in_any_order(self):
        topology = build_topology(reports("abab"), 3, None)
        assert topology.hosts == ((0, 2), (1, 3))
        assert (topology.host_index, topology.local_index, topology.num_lanes) == (1, 1, 2)
        assert any("round-robin" in reason for reason in topology.reasons)

    def test_smallest_host_decides_the_lanes(self):
        topology = build_topology(reports("aaab"), 0, None)
        assert (topology.num_lanes, topology.is_even) == (1, False)

    def test_size_that_was_asked_for_wins(self):
        assert build_topology(reports("aaaa"), 0, 2).hosts == ((0, 1), (2, 3))

    def test_different_settings_are_refused(self):
        with pytest.raises(TopologyError, match="rank 1 attached with other"):
            build_topology([*reports("a"), *reports("a", "other")], 0, None)

    def test_host_key_names_the_network_namespace(self):
        assert find_host_key().count("/") == 2
        assert find_host_key().rsplit("/", 1)[1].isdigit()


class TestLauncher:
    def test_mpirun_fills_what_env_rendezvous_needs(self):
        environ = {
            "OMPI_COMM_WORLD_RANK": "3",
            "OMPI_COMM_WORLD_SIZE": "4",
            "OMPI_COMM_WORLD_LOCAL_RANK": "1",
            "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
        }
        assert rendezvous_variables(environ) == {
            "RANK": "3",
            "WORLD_SIZE": "4",
            "LOCAL_RANK": "1",
            "LOCAL_WORLD_SIZE": "2",
        }

    def test_what_is_set_stays(self):
        environ = {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4", "RANK": "0"}
        assert rendezvous_variables(environ) == {"WORLD_SIZE": "4"}

    def test_ranks_started_by_hand_have_no_launcher(self):
        assert read_launch({}) is None


class TestCutter:
    @given(
        sizes=st.lists(st.integers(0, 50), min_size=1, max_size=8),
        piece=st.integers(1, 20),
        fusion=st.integers(0, 30),
    )
    def test_every_number_travels_once_and_in_order(self, sizes, piece, fusion):
        cutter = Cutter(piece * 4, fusion * 4)
        pieces = []
        buckets = []
        for index, size in enumerate(sizes):
            start = sum(sizes[:index])
            bucket = Bucket(index, torch.arange(start, start + size).float(), index == len(sizes) - 1, Future())
            buckets.append(bucket)
            pieces += cutter.cut(bucket)
        travelled = [float(value) for each in pieces for part in each.segments for value in part.values]
        assert travelled == [float(value) for value in range(sum(sizes))]
        assert all(0 < each.numel <= piece for each in pieces)
        assert [bucket.num_pieces_open for bucket in buckets] == [
            sum(part.bucket is bucket for each in pieces for part in each.segments) for bucket in buckets
        ]

    def test_small_buckets_travel_together(self):
        cutter = Cutter(4096, 4096)
        ready = [cutter.cut(Bucket(index, torch.ones(10), index == 3, Future())) for index in range(4)]
        assert [len(pieces) for pieces in ready] == [0, 0, 0, 1]

    def test_without_fusion_every_bucket_leaves_at_once(self):
        cutter = Cutter(4096, 0)
        ready = [cutter.cut(Bucket(index, torch.ones(10), index == 3, Future())) for index in range(4)]
        assert [len(pieces) for pieces in ready] == [1, 1, 1, 1]

    def test_types_do_not_mix(self):
        cutter = Cutter(4096, 4096)
        cutter.cut(Bucket(0, torch.ones(10), False, Future()))
        ready = cutter.cut(Bucket(1, torch.ones(10, dtype=torch.float64), True, Future()))
        assert [each.dtype for each in ready] == [torch.float32, torch.float64]


@given(numel=st.integers(0, 1000), parts=st.integers(1, 9))
def test_split_covers_everything_once(numel, parts):
    ends = [split(numel, parts, index) for index in range(parts)]
    assert [place for start, stop in ends for place in range(start, stop)] == list(range(numel))


@pytest.mark.parametrize("name", FORMATS)
@given(numel=st.integers(1, 1200), scale=st.sampled_from([1e-20, 1.0, 1e4]))
def test_both_sides_restore_the_same_numbers(name, numel, scale):
    wire = FORMATS[name]
    values = torch.randn(numel) * scale
    size, dtype = wire.packed(numel, torch.float32)
    packed = wire.pack(values, values if name == "exact" else torch.empty(size, dtype=dtype), torch.zeros(numel))
    restored = torch.empty(numel)
    wire.restore(packed, restored)
    assert torch.equal(restored, values)
    assert packed.numel() == size


def test_topk_sends_later_what_it_does_not_send_now():
    wire, gradient = FORMATS["topk"], torch.randn(1000, generator=torch.Generator().manual_seed(0))
    residual, total = torch.zeros(1000), torch.zeros(1000)
    errors = []
    for step in range(1, 1001):
        values = gradient.clone()
        wire.pack(values, torch.empty(wire.packed(1000, torch.float32)[0], dtype=torch.uint8), residual)
        assert int((values != 0).sum()) <= 10
        total += values
        errors.append(float((total / step - gradient).abs().max()))
    assert errors[-1] < errors[0] / 10


class TestStrangers:
    def test_who_does_not_know_the_token_is_sent_away(self):
        listener = Listener()
        strangers = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(2)]
        for stranger, word in zip(strangers, (b"hello", HELLO.pack(1, b"x" * 16))):
            stranger.connect("\0" + listener.name)
            stranger.sendall(word)
            stranger.shutdown(socket.SHUT_WR)
        found: list[LocalGroup] = []
        other = Listener()
        addresses = [listener.address, other.address]
        caller = threading.Thread(target=lambda: found.append(connect(other, addresses, (0, 1), 1, 10)))
        caller.start()
        group = connect(listener, addresses, (0, 1), 0, 10)
        caller.join()
        done = threading.Thread(target=found[0].barrier)
        done.start()
        group.barrier()
        done.join()
        for each in (group, found[0], listener, other, *strangers):
            each.close()

    def test_memory_is_the_same_for_all_and_has_no_name(self):
        before = set(os.listdir("/dev/shm"))
        descriptor = reserve(8192, None)
        assert os.fstat(descriptor).st_size == 8192
        assert not {name for name in set(os.listdir("/dev/shm")) - before if "danlu" in name}
        os.close(descriptor)
