"""Devices of tools that only pretend, from the start of a server to the rank table of a job."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from danlu.cli.cluster.nodes import nodes_text
from danlu.client import Client
from danlu.spec.states import JobState
from danlu.testing.serving import RunningServer

RECORDED = Path(__file__).parents[1] / "node" / "recorded"


@pytest.fixture
def npu_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """A server that finds `npu-smi` and `hccn_tool` in its PATH, which print what was recorded elsewhere."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, text in {
        "npu-smi": f"#!/bin/sh\ncat {RECORDED}/npu-smi-910b.txt\n",
        "hccn_tool": '#!/bin/sh\necho "ipaddr:192.168.7.$2"\n',
    }.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tools), prepend=":")
    running = RunningServer(tmp_path / "data").start()
    with running.client() as client:
        yield client
    running.stop()


def test_the_nodes_npus_and_their_addresses_reach_the_rank_table(npu_client: Client) -> None:
    assert "npu:910b3 0/2" in nodes_text(list(npu_client.nodes()))
    job = npu_client.jobs.submit(
        name="table",
        nodes=2,
        launch="ascend",
        resources={"device": "npu:910b:1"},
        command='cat $RANK_TABLE_FILE; echo "${DANLU_SIMULATED_DEVICES:-real} $SOC_VERSION"',
    )
    assert job.wait().state is JobState.SUCCEEDED
    said = "\n".join(line.text.strip() for line in job.logs(rank=1))
    assert '{"device_id": "0", "device_ip": "192.168.7.0", "rank_id": "0"}' in said
    assert '{"device_id": "1", "device_ip": "192.168.7.1", "rank_id": "1"}' in said
    assert said.endswith("real Ascend910B3")
    assert not any("simulated" in note for note in job.refresh().details.notes)
