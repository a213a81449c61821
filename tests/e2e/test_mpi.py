"""Jobs that mpirun starts, for real: Open MPI over our own agent into tasks that have an address each."""

from __future__ import annotations

import re
import shutil
from itertools import islice
from pathlib import Path

import pytest

from danlu.client import Client
from danlu.client.jobs.jobfile import read_job_file
from danlu.spec.states import JobState
from danlu.testing.footprint import Footprint
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until

EXAMPLE = Path(__file__).parents[2] / "examples" / "mpi"
LINE = re.compile(r"MPI rank (\d) of 4 in task (\d) \((\w+)\) on (\S+): the sum of all ranks is 6")

pytestmark = pytest.mark.skipif(shutil.which("mpirun") is None, reason="no mpirun: scripts/system-packages.sh tests")


def said(job_id: str, client: Client) -> list[str]:
    """The job's lines, but for one that mpirun prints when a child is quicker than itself."""
    return [line.text.rstrip() for line in client.jobs.get(job_id).logs() if "Warning: setpgid(" not in line.text]


def test_the_example_adds_up_in_two_tasks_of_two_ranks(client: Client) -> None:
    job_file = read_job_file(EXAMPLE / "job.yml", [])
    job = client.jobs.submit(job_file.values, folder=job_file.folder)
    ended = job.wait()
    assert ended.state is JobState.SUCCEEDED, said(job.id, client)
    seen = sorted(found.groups() for found in map(LINE.fullmatch, said(job.id, client)) if found)
    launcher, worker = f"{job.id}-launcher-0", f"{job.id}-worker-0"
    assert seen == [
        ("0", "0", "launcher", launcher),
        ("1", "0", "launcher", launcher),
        ("2", "1", "worker", worker),
        ("3", "1", "worker", worker),
    ]
    assert [(task.role, str(task.state)) for task in ended.details.attempts[-1].tasks] == [
        ("launcher", "succeeded"),
        ("worker", "stopped"),
    ]


def test_a_rank_that_dies_ends_the_job_which_names_it(client: Client) -> None:
    line = "test $OMPI_COMM_WORLD_RANK != 3 || { sleep 2; kill -9 $$; }; exec sleep 3600"
    job = client.jobs.submit(
        name="one-dies",
        command=f"mpirun bash -c '{line}'",  # who and where is in the hostfile that mpirun finds by itself
        launch="mpi",
        nodes=2,
        resources={"device": "cpu:2"},
        grace="5s",
    )
    ended = job.wait()
    assert ended.state is JobState.FAILED, said(job.id, client)
    assert ended.reason.code == "killed_by_signal"
    assert "MPI rank 3 on 10.88.0.2 was killed by signal 9 (Killed)" in ended.reason.message
    assert ended.details.attempts[-1].first_failed_rank == 0


def test_two_jobs_at_once_do_not_meet_and_a_stop_ends_all_of_one(client: Client, server: RunningServer) -> None:
    waiting = """
    trap 'sleep 2; echo saved by $OMPI_COMM_WORLD_RANK; exit 0' TERM
    echo up; while :; do sleep 0.1; done
    """
    stopped = client.jobs.submit(
        name="waits",
        command=["mpirun", "bash", "-c", waiting],
        launch="mpi",
        nodes=2,
        resources={"device": "cpu:2"},
        grace="10m",
    )
    followed = (line.text.strip() for line in stopped.logs(follow=True) if line.text.strip() == "up")
    assert list(islice(followed, 4)) == ["up"] * 4
    job_file = read_job_file(EXAMPLE / "job.yml", [])
    assert client.jobs.submit(job_file.values, folder=job_file.folder).wait().state is JobState.SUCCEEDED
    assert stopped.refresh().state is JobState.RUNNING
    stopped.stop()
    assert stopped.wait().state is JobState.STOPPED
    assert sorted(line for line in said(stopped.id, client) if line.startswith("saved")) == [
        f"saved by {rank}" for rank in range(4)
    ]
    wait_until(lambda: not Footprint(server.data_dir).left(), lambda: Footprint(server.data_dir).left())


def test_a_launcher_of_its_own_has_no_slots(client: Client) -> None:
    job = client.jobs.submit(
        name="roles",
        launch="mpi",
        roles={
            "launcher": {"command": "mpirun -np $GPU_NUM -H $NODE_LIST bash -c 'echo $DANLU_ROLE-$DANLU_ROLE_INDEX'"},
            "worker": {"count": 2},
        },
    )
    assert job.wait().state is JobState.SUCCEEDED, said(job.id, client)
    assert sorted(said(job.id, client)) == ["worker-0", "worker-1"]


def test_horovod_jobs_find_an_ssh_that_needs_no_sshd(client: Client) -> None:
    """What horovodrun does, by hand: it asks every host through ssh, and then calls mpirun."""
    job = client.jobs.submit(
        name="horovod",
        command="""
        for host in ${NODE_IP_SLOT_LIST//,/ }; do
            ssh -o PasswordAuthentication=no -o StrictHostKeyChecking=no ${host%:*} 'echo $DANLU_ROLE by ssh' || exit 1
        done
        mpirun --allow-run-as-root -np $GPU_NUM -H $NODE_IP_SLOT_LIST -bind-to none -map-by slot \\
            bash -c 'echo $DANLU_ROLE $OMPI_COMM_WORLD_LOCAL_RANK by mpirun'
        """,
        launch="horovod",
        nodes=2,
    )
    assert job.wait().state is JobState.SUCCEEDED, said(job.id, client)
    assert sorted(said(job.id, client)) == [
        "launcher 0 by mpirun",
        "launcher by ssh",
        "worker 0 by mpirun",
        "worker by ssh",
    ]


def test_a_launcher_finds_its_hostfile_and_reaches_every_task_by_ssh_and_pdsh(client: Client) -> None:
    """The calls that `deepspeed` makes; tests/long/test_deepspeed.py has DeepSpeed itself."""
    line = """
    hosts=$(cut -d' ' -f1 /job/hostfile | paste -sd,)
    ssh -o PasswordAuthentication=no ${hosts%%,*} hostname -I | cut -d' ' -f1
    pdsh -S -f 1024 -w $hosts 'export A=1; cd /tmp; echo %n of %h in $PWD: $A; exit %n'
    """
    job = client.jobs.submit(name="pdsh", command=line, launch="deepspeed", nodes=2, resources={"device": "cpu:2"})
    ended = job.wait()
    assert (ended.state, ended.reason.code) == (JobState.FAILED, "exit_code"), said(job.id, client)
    assert sorted(said(job.id, client)) == [
        "10.88.0.1",
        "10.88.0.1: 0 of 10.88.0.1 in /tmp: 1",
        "10.88.0.2: 1 of 10.88.0.2 in /tmp: 1",
    ]


COLOSSALAI = """
import fabric, os
hosts = open("/t9k/hostfile").read().split()
for number, host in enumerate(hosts):
    connection = fabric.Connection(host, port=None)
    with connection.cd("/tmp"), connection.prefix('export A="it breaks here: ""'):
        run = connection.local if number == 0 else connection.run
        run("echo $DANLU_ROLE $DANLU_RANK in $PWD", hide=False)
try:
    connection.run("exit 3", hide=False)
except Exception as error:
    print(error)
connection.close()
"""


def test_what_colossalai_calls_reaches_every_task(client: Client) -> None:
    """The calls that `colossalai run` makes; tests/long/test_colossalai.py has ColossalAI itself."""
    job = client.jobs.submit(name="fabric", command=["python3", "-c", COLOSSALAI], launch="colossalai", nodes=2)
    assert job.wait().state is JobState.SUCCEEDED, said(job.id, client)
    assert sorted(said(job.id, client)) == [
        "'exit 3' ended with code 3 on 10.88.0.2",
        "launcher 0 in /tmp",
        "worker 1 in /tmp",
    ]
