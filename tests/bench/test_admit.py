"""Nodes are judged and drained on a real server with four of them; every task says how fast its node is today."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.conftest import end_server

from danlu.bench import runs
from danlu.bench.admission import Standing
from danlu.bench.admitting import Admission, Rules, admit
from danlu.bench.suite import Mode, Suite, read_suite
from danlu.cli import main
from danlu.client import Client
from danlu.errors import InvalidInput, NotFound
from danlu.testing.serving import RunningServer
from danlu.testing.several_nodes import server_with_nodes

NODES = [f"node-{number:05}" for number in range(4)]
HEALTHY = dict.fromkeys(NODES, 10.0)
SLOW = {**HEALTHY, NODES[2]: 8.0}
WORK = """
import json, os, pathlib
node, rank = os.environ["DANLU_NODE"], int(os.environ["DANLU_RANK"])
speed = json.loads(pathlib.Path("speeds.json").read_text())[node]
folder = pathlib.Path(os.environ["DANLU_OUTPUT_DIR"], "bench")
folder.mkdir()
place = {"rank": rank, "num_ranks": int(os.environ["DANLU_NODES"]), "server": rank, "node": node}
(folder / f"rank-{rank}.json").write_text(json.dumps({**place, "metrics": {"speed": speed}}))
"""


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    running = server_with_nodes(tmp_path_factory.mktemp("four"), len(NODES)).start()
    yield running
    end_server(running)


@pytest.fixture
def client(four: RunningServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Client]:
    """All nodes are open again afterwards."""
    monkeypatch.setenv("DANLU_URL", four.url)
    monkeypatch.setenv("DANLU_API_KEY", four.api_key)
    monkeypatch.setenv("DANLU_CONFIG", str(tmp_path / "none.yml"))
    with four.client() as client:
        yield client
        for node in client.nodes():
            client.open_node(node.name)


class Bed:
    """A suite of a test's own, with speeds that it sets."""

    def __init__(self, folder: Path, name: str) -> None:
        self.file = folder / "suite.yml"
        self._code = folder / "code"
        self._code.mkdir()
        (self._code / "work.py").write_text(WORK)
        self.file.write_text(
            f"name: {name}\ncode: code\ncommand: python3 work.py\nmeasures: {{speed: {{unit: m/s}}}}\n"
        )
        self.say(HEALTHY)

    def say(self, speeds: dict[str, float]) -> None:
        (self._code / "speeds.json").write_text(json.dumps(speeds))

    @property
    def suite(self) -> Suite:
        return read_suite(self.file)

    def admit(self, client: Client, say: Callable[[str], None] = lambda line: None) -> Admission:
        return admit(client, self.suite, rules=Rules(repeat=1), say=say)


@pytest.fixture
def bed(tmp_path: Path) -> Bed:
    return Bed(tmp_path, f"bed-{uuid.uuid4().hex[:8]}")


def drained(client: Client) -> dict[str, str]:
    return {node.name: node.drain.reason for node in client.nodes() if node.drain is not None}


def test_the_slow_one_of_four_is_drained_and_the_reason_is_shown(
    client: Client, bed: Bed, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as healthy:
        main(["bench", "admit", str(bed.file)])
    assert (healthy.value.code, drained(client)) == (0, {})
    bed.say(dict.fromkeys(NODES, 99.0))
    runs.wait(runs.start(client, bed.suite, mode=Mode.NORMAL, nodes=[4]))  # together: tells nothing of a node alone
    bed.say(SLOW)
    with pytest.raises(SystemExit) as ended:
        main(["bench", "admit", str(bed.file), "--repeat", "1"])
    assert ended.value.code == 100
    assert f"below the baseline: {NODES[2]}; measuring once more" in capsys.readouterr().err
    newest = next(runs.history(client, bed.suite.name))
    reason = f"bench {bed.suite.name}: speed 8 m/s, baseline 10 m/s (-20.0 %), best of 2, {newest.id}"
    assert drained(client) == {NODES[2]: reason}
    with pytest.raises(SystemExit):
        main(["nodes"])
    assert reason in capsys.readouterr().out


def test_without_a_past_the_peers_tell_and_a_dry_run_drains_nothing(
    client: Client, bed: Bed, capsys: pytest.CaptureFixture[str]
) -> None:
    bed.say(SLOW)
    with pytest.raises(SystemExit) as ended:
        main(["bench", "admit", str(bed.file), "--repeat", "1", "--dry-run", "--json"])
    assert (ended.value.code, drained(client)) == (100, {})
    told = json.loads(capsys.readouterr().out)
    assert [(one["node"], one["baseline"], one["is_below"], one["is_drained"]) for one in told] == [
        (node, 10.0, node == NODES[2], False) for node in NODES
    ]


def test_a_node_that_was_disturbed_once_is_not_below(client: Client, bed: Bed) -> None:
    bed.say(SLOW)
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        if line.startswith("below"):
            bed.say(HEALTHY)

    found = bed.admit(client, say)
    assert [line for line in lines if line.startswith("below")] == [
        f"below the baseline: {NODES[2]}; measuring once more"
    ]
    assert [one.standing for one in found.judged] == [Standing.OK] * 4


def test_what_all_nodes_lost_drains_none(client: Client, bed: Bed, capsys: pytest.CaptureFixture[str]) -> None:
    bed.admit(client)
    bed.say(dict.fromkeys(NODES, 7.0))
    with pytest.raises(SystemExit) as ended:
        main(["bench", "admit", str(bed.file), "--repeat", "1"])
    assert (ended.value.code, drained(client)) == (100, {})
    assert capsys.readouterr().out.count("below, as the others are") == 4


def test_every_open_node_gets_one_task_and_works_alone(client: Client, bed: Bed) -> None:
    client.drain_node(NODES[0], "broken fan")
    found = bed.admit(client)
    (report,) = found.reports
    assert report.mode is Mode.SINGLE_SERVER
    assert [one.node for one in report.jobs[0].servers] == [one.node for one in found.judged] == NODES[1:]
    assert found.missed == []
    for node in NODES[1:]:
        client.drain_node(node, "broken fan")
    with pytest.raises(NotFound, match="no node is open"):
        bed.admit(client)


def test_a_run_that_failed_judges_nobody_and_is_no_baseline(client: Client, bed: Bed) -> None:
    bed.say(dict.fromkeys(NODES[:3], 10.0))
    found = bed.admit(client)
    (report,) = found.reports
    assert found.judged == []
    assert "task 3, rank 3, failed first" in found.problems
    with pytest.raises(InvalidInput, match=f"expected a run that passed, got {report.run}: failed"):
        admit(client, bed.suite, rules=Rules(baseline=report.run), say=lambda line: None)
