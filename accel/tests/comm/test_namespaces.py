"""Hosts that really are apart: network namespaces, with nothing said about who is where."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from danlu.testing.waiting import HANG_SECONDS

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
MIB = 1 << 20

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")


@pytest.fixture(scope="module")
def parts():
    sys.path.insert(0, str(BENCHMARKS))
    from comm_lab import launch, network

    yield launch, network
    sys.path.remove(str(BENCHMARKS))


def request(**modes):
    return {"what": "allreduce", "arguments": {"modes": modes, "num_bytes": 2 * MIB, "rounds": 1}}


def test_torchrun_and_mpirun_hosts_are_found_and_the_link_carries_each_gradient_once(parts):
    launch, network = parts
    with network.lab("1gbit") as hosts:
        found = launch.torchrun(hosts, 2, request(exact={"algorithm": "2d"}), HANG_SECONDS)
        check(found, "torchrun agrees")
        if launch.has_mpirun():
            found = launch.mpirun(hosts, 2, request(exact={"algorithm": "2d"}), HANG_SECONDS)
            check(found, "mpirun agrees")
            assert "round-robin" in found["explained"]["exact"]
    left = subprocess.run(["ip", "netns", "list"], check=True, capture_output=True, text=True).stdout
    assert hosts[0].namespace not in left


def check(found, launcher):
    explained, exact = found["explained"]["exact"], found["modes"]["exact"]
    assert "2 with 2, 2 ranks, found by machine, host name and network namespace" in explained
    assert launcher in explained
    assert exact["error"] < 1e-6
    assert exact["sent_ratio"] < 1.05
