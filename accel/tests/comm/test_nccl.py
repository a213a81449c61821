"""The exchange for GPUs: its order, streams and shapes, on a device and a backend that are fakes."""

from __future__ import annotations

import pytest

TRIP = ["reduce_scatter", "allreduce", "all_gather"]


def run(run_ranks, hosts="aabb", **arguments):
    answers = run_ranks("on_fake_nccl", hosts, **arguments)
    assert all("error" not in answer for answer in answers), answers
    return answers


class TestNccl:
    @pytest.mark.parametrize(("hosts", "num_streams"), [("aabb", 1), ("abab", 3), ("abc", 2), ("aa", 1)])
    def test_trains_like_plain_ddp_without_races(self, run_ranks, hosts, num_streams):
        for answer in run(run_ranks, hosts, num_streams=num_streams):
            assert answer["difference"] < 2e-5
            assert answer["bit_equal"]
            assert answer["races"] == []

    def test_every_bucket_takes_three_collectives_on_its_own_side_stream(self, run_ranks):
        answer = run(run_ranks, num_streams=2)[1]
        assert {index for index, _ in answer["buckets"]} == {0, 1}
        trips = [answer["log"][place : place + 3] for place in range(0, len(answer["log"]), 3)]
        assert len(trips) == len(answer["buckets"])
        for (index, numel), trip in zip(answer["buckets"], trips):
            shard = (numel + 1) // 2
            assert [entry[1] for entry in trip] == TRIP
            assert {entry[0] for entry in trip} == {f"side {index % 2}"}
            assert [tuple(entry[2:4]) for entry in trip] == [(2 * shard, shard), (shard, shard), (shard, 2 * shard)]

    def test_all_ranks_make_the_same_groups_and_collectives_in_the_same_order(self, run_ranks):
        answers = run(run_ranks, "abab", num_streams=2)
        groups = [[0, 2], [1, 3], [0, 1], [2, 3]]
        assert answers[0]["made"] == groups * 2
        for answer in answers[1:]:
            assert (answer["made"], answer["log"]) == (answers[0]["made"], answers[0]["log"])

    @pytest.mark.parametrize(("wire", "narrow"), [("bf16", "torch.bfloat16"), ("fp16", "torch.float16")])
    def test_lossy_wires_are_narrow_between_hosts_only(self, run_ranks, wire, narrow):
        for answer in run(run_ranks, wire=wire):
            assert {(entry[1], entry[4]) for entry in answer["log"]} == {
                ("reduce_scatter", "torch.float32"),
                ("allreduce", narrow),
                ("all_gather", "torch.float32"),
            }
            assert answer["bit_equal"]
            assert answer["largest_difference"] < 1e-2

    def test_a_stream_that_does_not_wait_for_backward_is_noticed(self, run_ranks):
        """The fake can fail: without `wait_stream` the side streams read what backward still writes."""
        assert "beside main" in run(run_ranks, forgets_to_wait=True)[0]["races"][0]

    def test_what_there_is_not_is_named_before_groups_are_made(self, run_ranks):
        for said in run_ranks("refused_by_nccl", "aaa"):
            assert said == {
                "leader": said["hosts"],
                "int8": "ValueError: wire 'int8' works on CPUs only; on GPUs: exact, bf16, fp16",
                "hosts": "CommError: on GPUs only '2d' with as many ranks on every host is there; "
                "without a hook DDP is flat",
            }
