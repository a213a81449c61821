"""What makes a day at the command line shorter: beginnings of ids, filters, times of lines, and what is cleaned up."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Said

from danlu.cli.jobs.notes import that_matter
from danlu.client import Client
from danlu.client.jobs.job import Job
from danlu.testing.serving import RunningServer

Danlu = Callable[..., Said]


@pytest.fixture(scope="module")
def ended(server: RunningServer) -> Job:
    """A job that printed two lines and stored a file."""
    with server.client() as client:
        job = client.jobs.submit(name="ended", command='echo one; echo two; echo x > "$DANLU_OUTPUT_DIR/x"')
        job.wait()
        return job


def test_the_beginning_of_an_id_is_enough(danlu: Danlu, client: Client, ended: Job) -> None:
    run = client.runs.push(ended.id, {"loss": 1.0}, step=1)
    for prefix in (ended.id[:-1], ended.id):
        assert json.loads(danlu("show", prefix, "--json").out)["id"] == ended.id
    assert json.loads(danlu("runs", "show", run.id[:-1], "--json").out)["id"] == run.id
    other = client.jobs.submit(name="other", command="true")
    other.wait()
    several = danlu("stop", "train-0")
    assert (several.code, "several jobs have ids that begin with 'train-0': " in several.err) == (2, True)
    assert danlu("show", "train-9999").code == 1


def test_jobs_of_an_owner_and_a_project(danlu: Danlu, ended: Job) -> None:
    of = ("--owner", ended.row.owner, "--project", ended.row.project)
    assert ended.id in {row["id"] for row in json.loads(danlu("ps", "-a", "--json", *of).out)}
    for words, told in ((("--owner", "of-nobody"), "no user 'of-nobody'"), (("--project", "none"), "none")):
        refused = danlu("ps", "-a", *words)
        assert refused.code == 1
        assert told in refused.err


def test_lines_begin_with_when_they_were_written(danlu: Danlu, ended: Job) -> None:
    lines = danlu("logs", ended.id, "--timestamps").out.splitlines()
    assert [line[21:] for line in lines] == ["one", "two"]
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  ", line) for line in lines)
    began = f"{ended.row.created_at:%Y-%m-%d %H:%M:%S}"
    assert all(line[:19] >= began for line in lines)


def test_a_job_is_deleted_with_its_output(danlu: Danlu, client: Client) -> None:
    jobs = [client.jobs.submit(name="gone", command='echo x > "$DANLU_OUTPUT_DIR/x"') for _ in range(2)]
    for job in jobs:
        job.wait()
    kept, gone = jobs
    assert danlu("rm", kept.id).code == 0
    assert danlu("rm", gone.id, "--output").code == 0
    assert (client.store.exists(kept.output), client.store.exists(gone.output)) == (True, False)


def test_a_bucket_is_emptied(danlu: Danlu, client: Client, tmp_path: Path) -> None:
    client.store.make_bucket("to-empty")
    (tmp_path / "f").write_text("x")
    for key in ("a", "deep/b", "deep/er/c"):
        client.store.upload(tmp_path / "f", f"store://to-empty/{key}")
    assert danlu("store", "rm", "-r", "store://to-empty").out == "deleted 3 objects\n"
    assert danlu("store", "rb", "to-empty").code == 0


def test_shells_complete_commands() -> None:
    environ = {**os.environ, "_DANLU_COMPLETE": "complete_bash", "COMP_WORDS": "danlu ru", "COMP_CWORD": "1"}
    done = subprocess.run([sys.executable, "-m", "danlu"], env=environ, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["run", "runs"]


def test_remarks_on_nodes_are_shown_where_they_matter() -> None:
    notes = [
        "Jobs run as the user who runs the server, because that is not root.",
        "Memory limits are not enforced: control groups cannot be created here.",
        "No sandbox (bwrap is missing): jobs see the machine's files.",
    ]
    assert that_matter(notes, {"command": "true"}) == [notes[2]]
    assert that_matter(notes, {"resources": {"memory": 1}}) == notes[1:]
    assert that_matter(notes, {"roles": {"worker": {"resources": {"memory": 1}}}}) == notes[1:]
