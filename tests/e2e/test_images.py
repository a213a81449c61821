"""Jobs with an image, for real: docker or podman fetch it, and the sandbox runs it."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from danlu.client import Client
from danlu.client.jobs.job import Job
from danlu.client.jobs.jobfile import read_job_file
from danlu.errors import InvalidSpec
from danlu.spec.states import JobState
from danlu.testing.serving import RunningServer

EXAMPLE = Path(__file__).parents[2] / "examples" / "image"
IMAGE = "localhost/danlu-busybox:1"


@pytest.fixture(scope="module")
def image(server: RunningServer) -> Iterator[str]:
    with server.client() as client:
        (node,) = client.nodes()
    if node.image_tool not in ("podman", "docker"):
        pytest.skip(f"no image can be made here: {node.image_problem or 'neither podman nor docker works'}")
    if shutil.which("busybox") is None:
        pytest.skip("no busybox-static; scripts/system-packages.sh tests installs it")
    subprocess.run([EXAMPLE / "make_image.sh", IMAGE], check=True, capture_output=True)
    yield IMAGE
    subprocess.run([node.image_tool, "rmi", "--force", IMAGE], check=False, capture_output=True)


def said(job: Job) -> list[str]:
    return [line.text.strip() for line in job.logs()]


def test_the_example_sees_the_image_and_nothing_of_the_machine(client: Client, image: str) -> None:
    job_file = read_job_file(EXAMPLE / "job.yml", [])
    job = client.jobs.submit(job_file.values, folder=job_file.folder)
    assert job.wait().state is JobState.SUCCEEDED, said(job)
    assert sorted(said(job)) == [f"rank {rank} of 2: this is the image, as danlu on worker-{rank}" for rank in range(2)]
    outputs = sorted(item.key.rpartition("/")[2] for item in client.store.list(f"main/jobs/{job.id}/"))
    assert outputs == ["rank-0.txt", "rank-1.txt"]


def test_a_job_in_an_image_is_itself_on_the_server(client: Client, image: str) -> None:
    ask = 'wget -q -O - --header "Authorization: Bearer $(cat $DANLU_TOKEN_FILE)" $DANLU_URL/api/v1/me'
    job = client.jobs.submit(name="who", image=image, command=f"{ask}; echo", nodes=2)
    assert job.wait().state is JobState.SUCCEEDED, said(job)
    assert [(me["job"], me["access"]) for me in map(json.loads, filter(None, said(job)))] == [(job.id, "own")] * 2


def test_a_stop_reaches_every_process_in_it(client: Client, image: str) -> None:
    job = client.jobs.submit(
        name="stopped",
        image=image,
        command="trap 'echo saved > $DANLU_OUTPUT_DIR/state; exit 0' TERM; echo up; while :; do sleep 0.1; done",
    )
    assert next(islice((line.text.strip() for line in job.logs(follow=True)), 1)) == "up"
    job.stop()
    assert job.wait().state is JobState.STOPPED
    assert [item.key.rpartition("/")[2] for item in client.store.list(f"main/jobs/{job.id}/")] == ["state"]


def test_files_of_the_image_cannot_be_changed_and_its_root_cannot_be_left(client: Client, image: str) -> None:
    job = client.jobs.submit(
        name="locked",
        image=image,
        command="touch /bin/x; rm /etc/motd; ls /proc/1/root/ /run/danlu; chroot / true; id -u | grep -c ^1",
        setup="export FROM_SETUP=yes",
    )
    assert job.wait().state is JobState.SUCCEEDED, said(job)
    told = said(job)
    assert [line.rpartition(": ")[2] for line in told[:-1]] == [
        "Read-only file system",
        "Read-only file system",
        "Permission denied",
        "No such file or directory",
        "Operation not permitted",
    ]
    assert told[-1] == "1"


def test_a_shell_sees_the_image_too(client: Client, image: str) -> None:
    job = client.jobs.submit(name="waits", image=image, debug=True, setup="export FROM_SETUP=yes", command="true")
    next(job.logs(follow=True))
    with job.terminal(command=["sh", "-c", "cat /etc/motd; echo $FLAVOUR $FROM_SETUP; id -un"]) as terminal:
        assert b"".join(terminal.output()).decode().split("\n") == ["this is the image", "busybox yes", "danlu", ""]
    job.stop()
    assert job.wait().state is JobState.STOPPED


def test_too_much_memory_has_a_reason_of_its_own(client: Client, image: str) -> None:
    (node,) = client.nodes()
    if any("Memory limits are not enforced" in note for note in node.missing):
        pytest.skip("; ".join(node.missing))
    job = client.jobs.submit(
        name="greedy",
        image=image,
        resources={"memory": "32MiB"},
        command="head -c 200000000 /dev/zero | tail -c 190000000",
    )
    ended = job.wait()
    assert (ended.state, ended.reason.code) == (JobState.FAILED, "out_of_memory")


def test_an_image_that_is_nowhere_fails_the_job_and_the_password_is_not_in_its_environment(
    client: Client, image: str
) -> None:
    nowhere = client.jobs.submit(
        name="nowhere",
        image="localhost:1/none:1",
        command="true",
        secrets={"PASSWORD": "hunter2"},
        image_login={"username": "li", "secret": "PASSWORD"},
    )
    here = client.jobs.submit(
        name="here",
        image=image,
        command="env",
        secrets={"PASSWORD": "hunter2", "OTHER": "given"},
        image_login={"username": "li", "secret": "PASSWORD"},
    )
    ended = nowhere.wait()
    assert ended.state is JobState.FAILED
    assert ended.reason.code in ("image_failed", "image_missing")
    assert "localhost:1/none:1 cannot be fetched" in ended.reason.message
    assert here.wait().state is JobState.SUCCEEDED, said(here)
    assert "OTHER=given" in said(here)
    assert "hunter2" not in "".join(said(here))


def test_a_login_without_its_secret_is_refused(client: Client) -> None:
    with pytest.raises(InvalidSpec, match="'PASSWORD' is not one of the job's secrets"):
        client.jobs.submit(name="x", command="true", image="a/b", image_login={"username": "li", "secret": "PASSWORD"})
    with pytest.raises(InvalidSpec, match=r"expected the name of an image, such as .*, got '-v /:/host'"):
        client.jobs.submit(name="x", command="true", image="-v /:/host")
