"""`danlu runs`, and `client.runs` below it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.support.journals import BEGAN, JournalMaker

from danlu import journal
from danlu.client import Client
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until

if TYPE_CHECKING:
    from tests.cli.conftest import Said

    Danlu = Callable[..., Said]


def send(server: RunningServer, made: JournalMaker) -> None:
    headers = {"Authorization": f"Bearer {server.api_key}"}
    with httpx.Client(base_url=f"{server.url}/api/v1", headers=headers) as http:
        http.post("/runs", json=made.header).raise_for_status()
        path = f"/runs/{made.run}/journals/{made.name}"
        http.put(path, params={"offset": 0}, content=made.data).raise_for_status()
        wait_until(lambda: http.get(f"/runs/{made.run}").json()["state"] != "running")


@pytest.fixture
def two_runs(server: RunningServer) -> list[JournalMaker]:
    made = []
    for name, lr in (("cli-small", 0.1), ("cli-large", 0.001)):
        one = JournalMaker(name=name, folder="cli")
        one.log("val", {"acc": [lr * step for step in range(40)]}, range(40))
        one.add(journal.encode_set("hparams", {"lr": lr, "same": 1}, time=BEGAN))
        one.add(journal.encode_output(1, BEGAN, b"hello\n")).finish()
        send(server, one)
        made.append(one)
    return made


class TestRuns:
    def test_from_the_list_to_the_bin_and_back(
        self, danlu: Danlu, client: Client, two_runs: list[JournalMaker], alone: Path
    ) -> None:
        small, large = two_runs
        listed = danlu("runs", "ls", "metrics.val.acc > 1", "-f", "cli").out
        assert small.run in listed
        assert large.run not in listed
        assert "val/acc" in listed.splitlines()[0]
        shown = danlu("runs", "show", "cli-small").out
        assert "lr = 0.1" in shown
        assert "▁" in shown
        compared = danlu("runs", "compare", "cli-small", "cli-large").out
        assert "lr" in compared
        assert "same" not in compared
        data = json.loads(danlu("runs", "compare", small.run, large.run, "--json").out)
        assert data["metrics"]["val/acc"][small.run]["max"] == pytest.approx(3.9)
        assert danlu("runs", "export", small.run, "points.csv").out == "points.csv\n"
        assert len((alone / "points.csv").read_text().splitlines()) == 41
        assert danlu("runs", "mv", small.run, "cli/old", "--name", "cli-old").out.split()[1:] == ["cli/old", "cli-old"]
        assert danlu("runs", "rm", small.run).out.endswith("in the trash\n")
        assert small.run not in danlu("runs", "ls", "-f", "cli").out
        assert danlu("runs", "restore", small.run).code == 0
        assert client.runs.get("cli-old").details.folder == "cli/old"
        assert b"".join(client.runs.get(small.run).output()) == b"hello\n"
        for run in (small.run, large.run):
            danlu("runs", "rm", run)
            assert danlu("runs", "rm", "--purge", run).out.endswith("deleted\n")

    def test_the_environment_is_shown_and_compared(self, danlu: Danlu, server: RunningServer) -> None:
        for number, version in enumerate(("2.1.0", "2.2.0")):
            one = JournalMaker(name=f"cli-env-{number}", environment={"python": "3.12.1", "host": "h"})
            git = {"commit": "abcdef0123456789", "branch": "main", "is_dirty": True, "diff": "+++ b/train.py\n+x = 1\n"}
            found = {"packages": {"numpy": version, "same": "1"}, "git": git}
            send(server, one.add(journal.encode_set("environment", found, time=BEGAN)).finish())
        shown = danlu("runs", "show", "cli-env-0").out
        assert "abcdef012345 on main, with changes" in shown
        assert "3.12.1, 2 packages" in shown
        whole = danlu("runs", "show", "cli-env-0", "--environment").out
        assert "numpy==2.1.0" in whole
        assert "+x = 1" in whole
        assert json.loads(danlu("runs", "show", "cli-env-0", "-e", "--json").out)["diff"].startswith("+++ b/train.py")
        compared = danlu("runs", "compare", "cli-env-0", "cli-env-1").out
        assert "packages.numpy  2.1.0" in compared
        assert "packages.same" not in compared

    def test_many_series(self, danlu: Danlu, server: RunningServer, alone: Path) -> None:
        made = JournalMaker(name="cli-many").log("train", {f"m{number}": [1.0] for number in range(450)}, [1]).finish()
        send(server, made)
        assert danlu("runs", "show", "cli-many").out.count("train/m") == 450
        assert len(json.loads(danlu("runs", "show", "cli-many", "--json").out)["metrics"]) == 450
        assert danlu("runs", "export", "cli-many", "points.csv").code == 0
        assert len((alone / "points.csv").read_text().splitlines()) == 451
        send(server, JournalMaker(name="cli-few").log("train", {"m449": [2.0]}, [1]).finish())
        assert danlu("runs", "compare", "cli-many", "cli-few").out.count("train/m") == 450
        data = json.loads(danlu("runs", "compare", "cli-many", "cli-few", "-m", "train/m449", "--json").out)
        assert sorted(one["last"] for one in data["metrics"]["train/m449"].values()) == [1.0, 2.0]

    @pytest.mark.usefixtures("two_runs")
    def test_a_list_that_is_cut_says_of_what_order_it_is(self, danlu: Danlu) -> None:
        assert danlu("runs", "ls", "-n", "1").err.startswith("danlu: only the newest 1 are shown")
        assert danlu("runs", "ls", "-n", "1", "--sort", "-val/acc").err.startswith(
            "danlu: only the first 1 in this order"
        )

    def test_what_is_wrong_is_said(self, danlu: Danlu, alone: Path, two_runs: list[JournalMaker]) -> None:
        said = danlu("runs", "ls", "hparams.lr <")
        assert (said.code, said.err.splitlines()[-1]) == (1, "danlu:               ^")
        assert danlu("runs", "show", "no-such-run").err.startswith("danlu: no run 'no-such-run'")
        assert danlu("runs", "compare", "one").code == 2
        refused = danlu("runs", "export", two_runs[0].run, "x.parquet")
        assert refused.code == 0 or "pip install 'danlu[parquet]'" in refused.err
        assert "is a folder; name a file in it" in danlu("runs", "export", two_runs[0].run, str(alone)).err
        assert list(alone.glob(".partial*")) + list(alone.parent.glob(".partial*")) == []

    def test_progress_of_a_job(self, danlu: Danlu, client: Client) -> None:
        job = client.jobs.submit(name="pushed", command="true")
        client.runs.push(job.id, {"loss": 1.0}, step=66, total_steps=1000, epoch=3)
        assert "6.6%, step 66 of 1000" in danlu("show", job.id).out
        job.wait()


class TestSync:
    def test_a_bad_run_is_named_and_never_stops_the_others(self, danlu: Danlu, alone: Path) -> None:
        def write(name: str, **header: object) -> Path:
            run = journal.new_run_id()
            folder = alone / "runs" / f"{name}-{run}"
            folder.mkdir(parents=True)
            about = {"run": run, "name": name, "created_at": BEGAN, "writer": "process", "branch": 1, **header}
            own = journal.new_journal_id()
            end = journal.encode_finish("finished", time=BEGAN)
            (folder / f"{own}.journal").write_bytes(journal.file_header(own) + journal.encode_run(about) + end)
            return folder

        write("a-branch", branch="x")
        write("a-created", created_at="x")
        write("a-nameless", run=None)
        write("a-rank", rank=[1])
        (write("b-noise") / "0.journal").write_bytes(b"no journal")
        os.mkfifo(write("b-pipe") / "0.journal")
        for name, data in (("c-empty", b""), ("c-noise", bytes(range(256)))):
            next(write(name).iterdir()).write_bytes(data)
        write("z-good")
        said = danlu("sync", str(alone / "runs"))
        told = {line.split()[1].partition("-run-")[0]: line for line in said.out.splitlines()}
        assert said.code == 1
        assert sorted(name for name, line in told.items() if line.endswith("sent")) == [
            *("a-branch", "a-rank", "b-noise", "b-pipe", "z-good"),
        ]
        assert "created_at: expected a number" in told["a-created"]
        for name in ("a-nameless", "c-empty", "c-noise"):
            assert told[name].endswith("no journal in it names a run")
