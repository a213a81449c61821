"""Commands about jobs, against a real server."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.usage import num_looks

from danlu import Client, Job
from danlu.spec.states import JobState
from danlu.testing.gates import HOLD
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until
from danlu.wire.jobs import JobOut, JobSummary, PlanOut

if TYPE_CHECKING:
    from tests.cli.conftest import Said

    Danlu = Callable[..., Said]


def job_file(folder: Path, text: str) -> str:
    (folder / "job.yml").write_text(text)
    return "job.yml"


class TestRun:
    def test_follows_and_ends_with_0(self, danlu: Danlu) -> None:
        said = danlu("run", "-N", "2", "--name", "pair", "--", "echo $INDEX of $NODE_NUM")
        assert said.code == 0
        assert sorted(said.out.splitlines()) == ["0 | 0 of 2", "1 | 1 of 2"]
        assert "submitted pair as train-" in said.err
        assert "succeeded" in said.err

    def test_a_failed_job_is_100_and_says_what_to_do(self, danlu: Danlu) -> None:
        said = danlu("run", "--", "echo no; exit 5")
        assert (said.code, said.out) == (100, "no\n")
        assert "rank 0: the command ended with code 5" in said.err
        assert "what to do:" in said.err

    def test_options_of_the_command_are_the_commands(self, danlu: Danlu) -> None:
        said = danlu("run", "printf", "%s.", "--name", "-N", "x")
        assert (said.code, said.out) == (0, "--name.-N.x.\n")

    def test_every_option_arrives_in_the_spec(self, danlu: Danlu, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FROM_HERE", "taken")
        monkeypatch.setenv("TOKEN_HERE", "hidden")
        said = danlu(
            *("run", "--json", "--name", "all", "--device", "npu:910b:2", "--cpus", "1", "--memory", "1GB"),
            *("--env", "A=1", "--env", "FROM_HERE", "--secret", "TOKEN_HERE", "--hp", "lr=1e-3", "--hp", "mode=off"),
            *("--tag", "team=vision", "--priority", "60", "--retries", "2", "--max-duration", "1h", "--grace", "5s"),
            *("--setup", "echo ready", "--output", "store://main/results/", "--", "true"),
        )
        assert said.code == 0, said.err
        job = JobOut.model_validate_json(said.out)
        assert job.device == "npu:910b:2"
        assert {name: job.spec[name] for name in ("env", "hyperparameters", "tags", "priority", "grace", "setup")} == {
            "env": {"A": "1", "FROM_HERE": "taken"},
            "hyperparameters": {"lr": 0.001, "mode": "off"},
            "tags": {"team": "vision"},
            "priority": 60,
            "grace": 5.0,
            "setup": "echo ready",
        }
        assert "hidden" not in said.out
        assert job.output == f"store://main/results/{job.id}/"

    def test_ctrl_c_detaches_and_the_job_goes_on(
        self, process: Callable[..., subprocess.Popen[str]], client: Client
    ) -> None:
        running = process("run", "--name", "left-alone", "--", "echo begun; sleep 3600")
        assert running.stdout is not None
        assert running.stdout.readline() == "begun\n"
        running.send_signal(signal.SIGINT)
        _, told = running.communicate()
        job = client.jobs.get("left-alone")
        assert running.returncode == 101
        assert f"detached: {job.id} keeps running. Follow it: danlu logs -f {job.id}" in told
        assert "Traceback" not in told
        assert job.state is JobState.RUNNING
        job.stop()


class TestSubmit:
    def test_a_file_with_settings_of_the_moment(self, danlu: Danlu, alone: Path) -> None:
        file = job_file(alone, "name: filed\ncommand: echo $GREETING\nenv: {GREETING: hello}\n")
        said = danlu("submit", file, "--set", "env.GREETING=bye")
        assert (said.code, said.out) == (0, "bye\n")

    def test_detached_it_prints_the_id_alone(self, danlu: Danlu, alone: Path, client: Client) -> None:
        said = danlu("submit", job_file(alone, "name: loose\ncommand: 'true'\n"), "-d")
        assert said.code == 0
        assert client.jobs.get(said.out.strip()).name == "loose"

    def test_what_is_wrong_has_its_place(self, danlu: Danlu, alone: Path) -> None:
        said = danlu("submit", job_file(alone, "name: a\ncommand: b\nnodse: 2\nresources:\n  device: '!'\n"))
        assert said.code == 1
        assert said.err.splitlines() == [
            "danlu: job.yml:5:3: resources.device: expected TYPE[:MODEL][:COUNT], such as gpu:2 or npu:910b:8, got '!'",
            "danlu: job.yml:3:1: nodse: unknown field of a job; did you mean 'nodes'?",
        ]

    def test_a_code_folder_is_relative_to_the_file(self, danlu: Danlu, alone: Path) -> None:
        (alone / "jobs").mkdir()
        file = job_file(alone / "jobs", "name: a\ncommand: b\ncode: ./src\n")
        said = danlu("submit", f"jobs/{file}")
        assert said.code == 1
        assert said.err == f"danlu: code: the folder {str(alone / 'jobs' / 'src')!r} does not exist\n"


def test_templates_are_kept_and_become_job_files(danlu: Danlu, alone: Path) -> None:
    job_file(alone, "nodes: 2\nresources: {device: cpu:1}\ncommand: echo hi\n")
    saved = danlu("templates", "save", "pair", "job.yml", "--set", "tags.team=vision", "--share")
    assert (saved.code, "is saved in project default" in saved.err) == (0, True)
    assert danlu("templates", "ls").out.splitlines()[1].split()[1:5] == ["pair", "default", "admin", "yes"]
    (alone / "again.yml").write_text("name: again\n" + danlu("templates", "show", "pair").out)
    assert sorted(danlu("submit", "again.yml").out.splitlines()) == ["0 | hi", "1 | hi"]
    job_file(alone, "nodes: none\n")
    wrong = danlu("templates", "save", "pair", "job.yml")
    assert (wrong.code, "job.yml:1" in wrong.err, "nodes" in wrong.err) == (1, True, True), wrong
    assert danlu("templates", "rm", "pair").code == 0
    assert "no template 'pair'" in danlu("templates", "show", "pair").err


class TestPlan:
    FILE = "name: planned\ncommand: python train.py\nnodes: 2\nlaunch: ddp\nhyperparameters: {lr: 0.1}\n"

    def test_shows_what_a_rank_will_see(self, danlu: Danlu, alone: Path) -> None:
        said = danlu("plan", job_file(alone, self.FILE), "--rank", "1")
        assert said.code == 0
        assert "rank 1 (worker)" in said.out
        assert "rank 0 (worker)" not in said.out
        for line in ("    RANK=1", "    WORLD_SIZE=2", "    /bin/bash -c 'python train.py'", '      "lr": 0.1'):
            assert line in said.out.splitlines()

    def test_a_rank_that_there_is_not(self, danlu: Danlu, alone: Path) -> None:
        said = danlu("plan", job_file(alone, self.FILE), "--rank", "2")
        assert (said.code, said.err) == (1, "danlu: expected a rank from 0 to 1\n")

    def test_json_is_the_wire(self, danlu: Danlu, alone: Path) -> None:
        plan = PlanOut.model_validate_json(danlu("plan", job_file(alone, self.FILE), "--json").out)
        assert len(plan.tasks) == 2


@pytest.fixture(scope="module")
def failed(server: RunningServer) -> str:
    """A job whose second rank failed first."""
    with server.client() as client:
        command = "echo line of $INDEX; [ $INDEX = 0 ] && sleep 3600; echo broken; exit 9"
        return client.jobs.submit(name="broken-one", command=command, nodes=2, tags={"t": "1"}).wait().id


class TestLook:
    def test_show_ends_with_why_and_what_to_do(self, danlu: Danlu, failed: str) -> None:
        said = danlu("show", "broken-one")
        assert said.code == 0
        _, _, end = said.out.partition("why  ")
        assert end.splitlines() == [
            "rank 1: the command ended with code 9 (exit_code)",
            "     Read the last log lines of the rank in the message.",
            "last lines of rank 1:",
            "  line of 1",
            "  broken",
            "",
            f"danlu logs {failed}",
            f"danlu store ls store://main/jobs/{failed}/",
            f"danlu start {failed}",
            f"danlu rm {failed}",
        ]
        assert "\x1b" not in said.out

    def test_show_leaves_out_lines_that_are_empty(self, danlu: Danlu, client: Client) -> None:
        job = client.jobs.submit(name="speechless", command="echo; exit 3").wait()
        assert "last lines of rank 0:" not in danlu("show", job.id).out

    def test_show_events(self, danlu: Danlu, failed: str) -> None:
        assert len(danlu("show", failed, "--events").out.splitlines()) > len(danlu("show", failed).out.splitlines())
        assert json.loads(danlu("show", failed, "--events", "--json").out)["events"]

    def test_favourites_are_listed_until_they_are_none(self, danlu: Danlu, failed: str) -> None:
        assert danlu("favourite", failed).out == f"{failed} is a favourite; `danlu ps --favourites` lists them\n"
        assert [line.split()[0] for line in danlu("ps", "--favourites").out.splitlines()] == ["ID", failed]
        assert danlu("favourite", "--remove", failed).out == f"{failed} is no longer a favourite\n"
        assert danlu("ps", "--favourites").out == "no jobs\n"
        assert danlu("favourite", "no-such-job").code != 0

    def test_ps_lists_what_is_asked_for(self, danlu: Danlu, failed: str) -> None:
        assert failed not in danlu("ps").out
        rows = danlu("ps", "-a", "--tag", "t=1").out.splitlines()
        assert rows[0].split() == ["ID", "NAME", "STATE", "ON", "TRY", "OWNER", "AGE", "RAN", "WHY"]
        assert [row.split()[:3] for row in rows[1:]] == [[failed, "broken-one", "failed"]]
        found = json.loads(danlu("ps", "--state", "failed", "--name", "broken-one", "--json").out)
        assert [JobSummary.model_validate(row).id for row in found] == [failed]
        assert danlu("ps", "--tag", "t=nothing").out == "no active jobs; danlu ps -a shows all\n"

    def test_logs_of_ranks_as_text_and_as_json(self, danlu: Danlu, failed: str) -> None:
        assert danlu("logs", failed, "--rank", "1").out == "line of 1\nbroken\n"
        assert danlu("logs", failed, "--rank", "1,1").out == "line of 1\nbroken\n"
        assert danlu("logs", failed, "--grep", "line").out.splitlines() == ["0 | line of 0", "1 | line of 1"]
        assert danlu("logs", failed, "-r", "1", "-n", "1", "--json").out == (
            '{"rank": 1, "attempt": 1, "offset": 10, "text": "broken"}\n'
        )

    def test_logs_of_the_newest_job_that_fits(self, danlu: Danlu, failed: str) -> None:
        for pattern in (f"{failed}*", f"{failed[:-2]}??"):
            assert danlu("logs", pattern, "--rank", "1").out == "line of 1\nbroken\n"
        said = danlu("logs", "train-nothing*")
        assert (said.code, "no job matches 'train-nothing*'" in said.err) == (102, True)

    def test_following_a_job_that_is_over_ends_at_once_with_its_code(self, danlu: Danlu, failed: str) -> None:
        assert danlu("logs", "-f", failed).code == 100
        assert danlu("wait", failed).code == 100

    def test_no_such_job(self, danlu: Danlu) -> None:
        assert danlu("logs", "nobody").code == 102
        assert danlu("wait", "nobody").code == 102
        said = danlu("show", "nobody")
        assert (said.code, said.err.count("\n")) == (1, 1)
        assert said.err.startswith("danlu: no job named 'nobody'")

    def test_a_node_is_drained_and_opened(self, danlu: Danlu, client: Client) -> None:
        name = next(client.nodes()).name
        assert danlu("nodes", "drain", name).code == 2
        said = danlu("nodes", "drain", name, "--reason", "broken fan")
        assert said.out.startswith(f"{name} is drained; ")
        try:
            said = danlu("nodes")
            assert " drained " in said.out
            assert f"by admin: broken fan ({said.out.rpartition('(')[2]}" in said.out
            job = client.jobs.submit(name="waits-for-a-node", command="true")
            wait_until(lambda: job.refresh().reason.code != "submitted")
            assert f"reopening a node (node {name} is drained: broken fan)" in danlu("why", job.id).out
        finally:
            assert danlu("nodes", "open", name).out == f"{name} is open\n"
        assert job.wait().state is JobState.SUCCEEDED

    def test_what_a_job_uses(self, danlu: Danlu, client: Client, server: RunningServer) -> None:
        job = client.jobs.submit(name="uses", command=HOLD, resources={"memory": "1GiB"})
        assert "has not started" in danlu("top", job.id).out or job.refresh().details.attempt == 1
        wait_until(lambda: num_looks(server.data_dir / "work" / job.id / "1/0"))
        server.let_go(job.id)
        job.wait()
        head, columns, row = danlu("top", "uses").out.splitlines()
        assert head == f"{job.id} attempt 1: mean, and at most"
        assert columns.split()[:3] == ["RANK", "NODE", "CPU"]
        assert " of 1.0 GiB " in row
        found = json.loads(danlu("top", "uses", "--json").out)
        assert found["tasks"][0]["lines"]["memory"]["highest"] > 1 << 20

    def test_nodes_and_whoami(self, danlu: Danlu) -> None:
        assert "npu:910b" in danlu("nodes").out
        assert json.loads(danlu("nodes", "--json").out)[0]["engine"] == "local"
        assert danlu("whoami").out.startswith("admin (admin) at http://127.0.0.1:")
        assert json.loads(danlu("whoami", "--json").out)["name"] == "admin"


class TestEnd:
    def test_stop_wait_start_and_rm(self, danlu: Danlu, client: Client) -> None:
        first = client.jobs.submit(name="ended", command="[ $DANLU_ATTEMPT = 2 ] || sleep 3600")
        said = danlu("wait", first.id, "--timeout", "0.2s")
        assert said.code == 101
        assert f"{first.id} is still" in said.err
        assert danlu("stop", first.id).out == f"stopping {first.id}\n"
        assert danlu("wait", first.id).code == 103
        assert danlu("start", first.id).code == 0
        assert danlu("wait", first.id, "--json").code == 0
        assert danlu("rm", first.id).out == f"deleted {first.id}\n"
        said = danlu("rm", first.id)
        assert said.code == 1
        assert said.err == f"danlu: no job '{first.id}'; `danlu ps -a` lists them\n"

    def test_what_is_over_is_not_being_stopped(self, danlu: Danlu, client: Client) -> None:
        over = client.jobs.submit(name="over-before", command="true").wait()
        runs = client.jobs.submit(name="still-runs", command=["sleep", "3600"])
        said = danlu("stop", over.id, "still-runs", "nope")
        assert (said.code, said.out) == (1, f"{over.id} has already ended: succeeded\nstopping {runs.id}\n")
        assert said.err.startswith("danlu: no job named 'nope'")
        assert said.err.count("nope") == 1
        assert runs.wait().state is JobState.STOPPED
        assert danlu("stop", runs.id).out == f"{runs.id} has already ended: stopped\n"

    def test_pause_and_resume_say_what_was_asked_for(
        self, danlu: Danlu, process: Callable[..., subprocess.Popen[str]], client: Client
    ) -> None:
        job = client.jobs.submit(name="pausing", command="[ $DANLU_ATTEMPT = 2 ] || sleep 3600", grace=5)
        _until(job, JobState.RUNNING)
        refused = danlu("rm", job.id)
        assert refused.err == f"danlu: {job.id} is running; stop it first: danlu stop {job.id}\n"
        back = f"`danlu resume {job.id}` queues it again"
        assert danlu("pause", job.id).out == f"pausing {job.id}: its processes have 5s to end; {back}\n"
        _until(job, JobState.PAUSED)
        assert danlu("pause", job.id).out == f"{job.id} is already paused; {back}\n"
        waiting = process("wait", job.id)
        assert waiting.stderr is not None
        assert waiting.stderr.readline() == (
            f"{job.id} is paused. Resume it: danlu resume {job.id}   Stop it: danlu stop {job.id}\n"
        )
        assert danlu("resume", job.id).out == f"resuming {job.id}: it is queued\n"
        waiting.communicate()
        assert waiting.returncode == 0
        assert danlu("start", job.id).out.startswith(f"starting {job.id} again: ")

    def test_a_job_in_the_wrong_state_is_refused_with_a_sentence(self, danlu: Danlu, client: Client) -> None:
        job = client.jobs.submit(name="over", command="true").wait()
        said = danlu("resume", job.id)
        assert (said.code, said.out) == (1, "")
        assert said.err.startswith("danlu: ")

    def test_ps_watches_until_ctrl_c(self, process: Callable[..., subprocess.Popen[str]], client: Client) -> None:
        job = client.jobs.submit(name="watched", command=["sleep", "3600"])
        watching = process("ps", "-w", "--name", "watched")
        assert watching.stdout is not None
        lines = [watching.stdout.readline() for _ in range(2)]
        assert lines[1].startswith(job.id)
        watching.send_signal(signal.SIGINT)
        _, told = watching.communicate()
        assert (watching.returncode, told) == (0, "")
        job.stop()


def _until(job: Job, state: JobState) -> None:
    for _ in job.watch():
        if job.state is state:
            return
    raise AssertionError(f"{job.id} is {job.state}, and never was {state}")


def test_a_reader_that_goes_away_is_no_drama(process: Callable[..., subprocess.Popen[str]], client: Client) -> None:
    job = client.jobs.submit(name="long-text", command="seq 100000").wait()
    reading = process("logs", job.id)
    assert reading.stdout is not None
    assert reading.stderr is not None
    assert reading.stdout.readline() == "1\n"
    reading.stdout.close()
    assert reading.stderr.read() == ""
    reading.stderr.close()
    reading.wait()
