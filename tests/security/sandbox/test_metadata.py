"""Hole 11: addresses where clouds hand out the credentials of the machine."""

from __future__ import annotations

import pytest

from danlu.engines.local import LocalEngine
from danlu.node.supervise.way_out import own_addresses
from danlu.testing.engines import Starter

ADDRESSES = (
    "169.254.169.254",  # AWS, Azure, Google, Huawei, OpenStack
    "169.254.170.2",  # AWS, tasks
    "169.254.0.23",  # Tencent
    "100.100.100.200",  # Alibaba
    "168.63.129.16",  # Azure
    "192.0.0.192",  # Oracle
    "fd00:ec2::254",  # AWS
    "fd00:ec2::23",  # AWS, pods
    "fd20:ce::254",  # Google
    "fd00:42::42",  # Scaleway
)
ELSEWHERE = ("198.51.100.7", "100.100.100.201", "168.63.129.17")

PROGRAM = """
import socket, sys
for address in sys.argv[1:]:
    family = socket.AF_INET6 if ':' in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect((address, 80))  # asks the routing table and sends nothing
            print('way to', address)
        except OSError:
            print('none to', address)
"""


def test_there_is_no_way_to_them(starter: Starter, engine: LocalEngine) -> None:
    (node,) = engine.nodes()
    if not node.has_own_network or any("way out" in sentence for sentence in node.missing):
        pytest.skip("; ".join(node.missing))
    job = starter.start(["python3", "-c", PROGRAM, *ADDRESSES, *ELSEWHERE])
    job.wait()
    assert job.log().splitlines() == [
        *(f"none to {address}" for address in ADDRESSES),
        *(f"way to {address}" for address in ELSEWHERE),
    ]


def test_there_is_no_way_to_the_nodes_of_its_cluster(starter: Starter, engine: LocalEngine) -> None:
    """Ray listens there, and whoever reaches the port of a gang's network could send into it."""
    (node,) = engine.nodes()
    if not node.has_own_network or any("way out" in sentence for sentence in node.missing):
        pytest.skip("; ".join(node.missing))
    nodes, elsewhere = ("198.51.100.8", "198.51.100.9", *own_addresses()), "198.51.100.10"
    engine.keep_away_from(nodes)
    job = starter.start(["python3", "-c", PROGRAM, *nodes, elsewhere])
    job.wait()
    assert job.log().splitlines() == [*(f"none to {address}" for address in nodes), f"way to {elsewhere}"]


UNTIL_CLOSED = """
import socket, sys, time
def leads_to(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect((address, 80))
            return True
        except OSError:
            return False
print('ready' if leads_to(sys.argv[1]) else 'closed before', flush=True)
while leads_to(sys.argv[1]):
    time.sleep(0.05)
print('closed', leads_to(sys.argv[2]), flush=True)
"""


def test_a_machine_that_joins_later_is_closed_to_tasks_that_run(starter: Starter, engine: LocalEngine) -> None:
    (node,) = engine.nodes()
    if not node.has_own_network or any("way out" in sentence for sentence in node.missing):
        pytest.skip("; ".join(node.missing))
    joins, elsewhere = "198.51.100.8", "198.51.100.10"
    job = starter.start(["python3", "-c", UNTIL_CLOSED, joins, elsewhere], nodes=2)
    for rank in (0, 1):
        job.wait_for_log("ready", rank=rank)
    engine.keep_away_from([joins])
    job.wait()
    assert [job.log(rank) for rank in (0, 1)] == ["ready\nclosed True\n"] * 2


def test_a_job_cannot_open_one(starter: Starter, engine: LocalEngine) -> None:
    if not engine.nodes()[0].has_own_network:
        pytest.skip("; ".join(engine.nodes()[0].missing))
    job = starter.start(
        "ip route del unreachable 169.254.0.0/16; ip route add 169.254.169.254 dev tap0; ip link set tap0 down;"
        "ip addr add 169.254.1.1/16 dev lo; ip route show table all | grep -c '^unreachable 169.254.0.0/16'"
    )
    job.wait()
    assert job.log().splitlines()[-1] == "1"
