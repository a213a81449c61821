"""Jobs through the SDK, against a real server with real processes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from danlu import Client, Job, JobSpec
from danlu.errors import InvalidInput, InvalidSpec, NotFound, NotSignedIn, WrongState
from danlu.spec.states import JobState
from danlu.testing.gates import HOLD
from danlu.testing.serving import RunningServer


class TestSubmit:
    def test_a_job_runs_to_its_end(self, client: Client) -> None:
        job = client.jobs.submit(name="hello", command="echo hello", tags={"kind": "greeting"})
        assert job.wait().state is JobState.SUCCEEDED
        assert job.reason.code == "done"
        assert [line.text for line in job.logs()] == ["hello"]
        assert job.output == f"store://main/jobs/{job.id}/"
        assert {event.attempt for event in job.events()} >= {1}

    def test_a_spec_and_a_mapping_are_the_same_job(self, client: Client) -> None:
        spec = JobSpec(name="same", command=("true",), env={"A": "1"})
        first, second = (
            client.jobs.submit(spec),
            client.jobs.submit({"command": ["true"], "env": {"A": 1}}, name="same"),
        )
        assert first.details.spec == second.details.spec

    def test_the_same_request_twice_is_one_job(self, client: Client) -> None:
        first = client.jobs.submit(name="once", command="true", request_id="request-0001")
        assert client.jobs.submit(name="once", command="true", request_id="request-0001") == first

    def test_a_failed_job_does_not_raise(self, client: Client) -> None:
        job = client.jobs.submit(name="fails", command="echo no >&2; exit 7").wait()
        assert (job.state, job.reason.code) == (JobState.FAILED, "exit_code")
        attempt = job.details.attempts[-1]
        assert (attempt.first_failed_rank, attempt.last_lines) == (0, ["no"])

    def test_what_cannot_be_used_is_refused(self, client: Client) -> None:
        with pytest.raises(InvalidSpec, match="resources"):
            client.jobs.submit(name="a", command="true", resources={"device": "nothing:here:x"})

    def test_code_that_the_server_does_not_have_is_refused(self, client: Client) -> None:
        with pytest.raises(InvalidInput):
            client.jobs.submit(name="a", command="true", code={"tree": "0" * 64})

    def test_without_a_key_nothing_works(self, server: RunningServer) -> None:
        with Client(url=server.url, api_key="wrong") as client, pytest.raises(NotSignedIn):
            client.me()


class TestSecrets:
    VALUE = "f1nd-me-1f-you-can"

    def test_no_file_of_the_server_holds_one_in_clear(self, server: RunningServer, client: Client) -> None:
        command = "echo it has ${#TOKEN} letters; touch $DANLU_OUTPUT_DIR/begun; sleep 3600"
        job = client.jobs.submit(name="discreet", command=command, secrets={"TOKEN": self.VALUE}, grace=1)
        assert next(job.logs(follow=True)).text == f"it has {len(self.VALUE)} letters"
        assert _files_with(self.VALUE, server.data_dir) == []
        job.stop().wait()
        assert _files_with(self.VALUE, server.data_dir) == []

    def test_what_the_job_prints_is_in_its_log(self, server: RunningServer, client: Client) -> None:
        job = client.jobs.submit(name="chatterbox", command="echo $TOKEN", secrets={"TOKEN": self.VALUE})
        job.wait()
        assert [line.text for line in job.logs()] == [self.VALUE]
        assert _files_with(self.VALUE, server.data_dir) != []


def _files_with(text: str, folder: Path) -> list[Path]:
    def holds(path: Path) -> bool:
        try:
            return path.is_file() and text.encode() in path.read_bytes()
        except FileNotFoundError:
            return False  # gone meanwhile

    # not rglob, which does not bear that a folder is gone meanwhile
    paths = [Path(parent, name) for parent, _, names in os.walk(folder) for name in names]
    return [path for path in paths if holds(path)]


class TestPlan:
    def test_every_rank_is_shown_and_nothing_is_stored(self, client: Client, tmp_path: Path) -> None:
        (tmp_path / "train.py").write_text("print('never uploaded')")
        before = [job.id for job in client.jobs.list()]
        plan = client.jobs.plan(name="p", command="python train.py", nodes=2, launch="ddp", code=str(tmp_path))
        assert [(task.rank, task.env["RANK"], task.env["WORLD_SIZE"]) for task in plan.tasks] == [
            (0, "0", "2"),
            (1, "1", "2"),
        ]
        assert plan.tasks[0].inputs[0].source.startswith("tree:")
        assert [job.id for job in client.jobs.list()] == before


class TestFind:
    def test_a_name_means_the_newest_of_that_name(self, client: Client) -> None:
        client.jobs.submit(name="twins", command="true")
        newest = client.jobs.submit(name="twins", command="true")
        assert client.jobs.get("twins") == newest

    def test_a_name_may_hold_anything_a_name_may_hold(self, client: Client) -> None:
        job = client.jobs.submit(name="名 50% ?#&", command="true")
        assert client.jobs.get("名 50% ?#&") == job

    def test_what_is_not_there_is_not_found(self, client: Client) -> None:
        with pytest.raises(NotFound, match="no job named 'nobody'"):
            client.jobs.get("nobody")

    def test_a_list_goes_over_pages(self, client: Client) -> None:
        made = [client.jobs.submit(name=f"page-{number}", command="true", tags={"set": "pages"}) for number in range(5)]
        found = list(client.jobs.list(tags={"set": "pages"}, limit=2))
        assert found == [made[4], made[3]]
        assert list(client.jobs.list(tags={"set": "pages"})) == made[::-1]
        for job in made:
            job.wait()
        assert list(client.jobs.list(tags={"set": "pages"}, all=False)) == []
        assert list(client.jobs.list(tags={"set": "pages"}, state="succeeded")) == made[::-1]
        assert list(client.jobs.list(name="page-3", tags={"set": "pages"})) == [made[3]]


class TestEnd:
    def test_favourites_are_listed_until_they_are_none(self, client: Client) -> None:
        job, other = (client.jobs.submit(name=name, command="true") for name in ("liked", "plain"))
        assert client.jobs.add_favourite(job).job == job.id
        client.jobs.add_favourite("plain")
        assert [one.id for one in client.jobs.list(favourites=True)] == [other.id, job.id]
        client.jobs.remove_favourite(other)
        client.jobs.remove_favourite("plain")
        assert list(client.jobs.list(favourites=True)) == [job]
        client.jobs.remove_favourite(job)

    def test_stop_is_quiet_the_second_time(self, client: Client) -> None:
        job = client.jobs.submit(name="sleeper", command=["sleep", "3600"])
        assert job.stop().wait().state is JobState.STOPPED
        assert job.stop().state is JobState.STOPPED

    def test_many_are_stopped_and_deleted_at_once(self, client: Client) -> None:
        jobs = [client.jobs.submit(name="many", command=["sleep", "3600"]) for _ in range(3)]
        stopped = client.jobs.stop([*jobs, "nobody"])
        assert (set(stopped.done), set(stopped.refused)) == ({job.id for job in jobs}, {"nobody"})
        for job in jobs:
            job.wait()
        assert set(client.jobs.delete(jobs).done) == {job.id for job in jobs}
        with pytest.raises(NotFound):
            jobs[0].refresh()

    def test_a_running_job_is_not_deleted(self, client: Client) -> None:
        job = client.jobs.submit(name="alive", command=["sleep", "3600"])
        with pytest.raises(WrongState):
            job.delete()
        job.stop().wait()
        job.delete()

    def test_wait_gives_up_in_time(self, client: Client) -> None:
        job = client.jobs.submit(name="slow", command=["sleep", "3600"])
        begun = time.monotonic()
        with pytest.raises(TimeoutError):
            job.wait(timeout=0.7)
        assert time.monotonic() - begun >= 0.7
        job.stop()

    def test_pause_resume_and_start_again(self, client: Client) -> None:
        job = client.jobs.submit(name="again", command="echo $DANLU_ATTEMPT; [ $DANLU_ATTEMPT != 1 ] || sleep 3600")
        _until(job, JobState.RUNNING)
        job.pause()
        _until(job, JobState.PAUSED)
        assert job.resume().wait().state is JobState.SUCCEEDED
        assert job.start().wait().row.attempt == 3
        assert [[line.text for line in job.logs(attempt=number)] for number in (1, 2, 3)] == [["1"], ["2"], ["3"]]


class TestLogs:
    def test_ranks_lines_and_times_can_be_chosen(self, client: Client) -> None:
        job = client.jobs.submit(name="chatty", command="for i in 1 2 3; do echo $INDEX-$i; done", nodes=2)
        job.wait()
        assert sorted(line.text for line in job.logs()) == ["0-1", "0-2", "0-3", "1-1", "1-2", "1-3"]
        assert [line.text for line in job.logs(rank=1)] == ["1-1", "1-2", "1-3"]
        assert [line.text for line in job.logs(rank=[0], tail=1)] == ["0-3"]
        assert sorted(line.text for line in job.logs(grep="-[12]$", tail=2)) == ["0-2", "1-2"]
        assert list(job.logs(since=time.time() + 3600)) == []
        assert len(list(job.logs(since="1h"))) == 6
        with pytest.raises(NotFound, match="no rank 7"):
            list(job.logs(rank=7))
        with pytest.raises(InvalidInput, match="is not a regular expression"):
            list(job.logs(grep="["))
        with pytest.raises(InvalidInput, match="is not a time"):
            job.logs(since="yesterday-ish")

    def test_following_sees_every_line_as_it_comes(self, client: Client, server: RunningServer) -> None:
        job = client.jobs.submit(name="ticks", command=f"echo 1; echo 2; {HOLD}; echo 3; printf end")
        lines = job.logs(follow=True)
        assert [next(lines).text for _ in range(2)] == ["1", "2"]
        server.let_go(job.id)
        assert [line.text for line in lines] == ["3", "end"]

    def test_a_retried_job_is_followed_through_all_attempts(self, client: Client) -> None:
        command = "echo $DANLU_ATTEMPT; [ $DANLU_ATTEMPT = 2 ]"
        job = client.jobs.submit(name="retried", command=command, retry={"max": 1, "on": ["exit_code"], "backoff": 0})
        assert [(line.attempt, line.text) for line in job.logs(follow=True)] == [(1, "1"), (2, "2")]
        assert job.refresh().state is JobState.SUCCEEDED

    def test_no_byte_is_lost_or_doubled_when_the_server_is_killed(
        self, make_server: Callable[..., RunningServer]
    ) -> None:
        server = make_server()
        with server.client() as client:
            count = 12_000
            job = client.jobs.submit(name="stream", command=f"seq 6000; {HOLD}; seq 6001 {count}")
            start = threading.Thread(target=lambda: server.start().let_go(job.id))
            lines = []
            for line in job.logs(follow=True):
                lines.append(line.text)
                if len(lines) == 5000:
                    server.kill()
                    start.start()
            start.join()
            assert lines == [str(number) for number in range(1, count + 1)]
            assert job.wait().state is JobState.SUCCEEDED
            raw = b"".join(job.raw_log(0))
            assert raw == b"".join(b"%d\n" % number for number in range(1, count + 1))


def _until(job: Job, state: JobState) -> None:
    for _ in job.watch():
        if job.state is state:
            return
