from __future__ import annotations

import pytest

from danlu.node.supervise.verdict import Facts, Verdict, judge
from danlu.node.task import TaskLimits
from danlu.spec.reasons import CATALOGUE
from danlu.spec.states import TaskState

RAN = Facts(did_start=True, folder="/work/x")


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (RAN._replace(exit_code=0), Verdict("succeeded", "", "")),
        (RAN._replace(exit_code=3), Verdict("failed", "exit_code", "the command ended with code 3")),
        (RAN._replace(exit_code=0, was_stopped=True), Verdict("stopped", "", "")),
        (
            RAN._replace(exit_code=0, was_stopped=True, was_ordered=False),
            Verdict(
                "failed",
                "stopped_outside",
                "the task received SIGTERM from outside Danlu, for example because the machine shut down; "
                "the command ended with code 0",
            ),
        ),
        (RAN._replace(exit_code=137), Verdict("failed", "killed_by_signal", "SIGKILL ended the command")),
        (
            RAN._replace(exit_code=137, num_oom_kills=1, limits=TaskLimits(memory_bytes=1 << 30)),
            Verdict(
                "failed",
                "out_of_memory",
                "the task used more than its memory of 1024 MiB, and the kernel ended one of its processes",
            ),
        ),
        (
            RAN._replace(exit_code=1, num_refused_forks=3, limits=TaskLimits(max_processes=64)),
            Verdict(
                "failed",
                "process_limit",
                "the task reached its limit of 64 processes and threads, and could not start another; "
                "the command ended with code 1",
            ),
        ),
        (RAN._replace(exit_code=0, num_refused_forks=3), Verdict("succeeded", "", "")),
        (
            RAN._replace(exit_code=153, limits=TaskLimits(max_disk_bytes=100)),
            Verdict(
                "failed",
                "disk_limit",
                "a file reached the disk limit of the task (max_disk_bytes: 100); the command ended with code 153",
            ),
        ),
        (RAN._replace(exit_code=0, exceeded=("disk_limit", "too much")), Verdict("failed", "disk_limit", "too much")),
        (
            RAN._replace(exit_code=2, missed_gate=("setup", "setup_failed")),
            Verdict("failed", "setup_failed", "setup ended with code 2"),
        ),
        (
            Facts(failed_word="trian", failed_errno=2, exit_code=127),
            Verdict("failed", "command_not_found", "cannot execute 'trian': No such file or directory"),
        ),
        (
            RAN._replace(exit_code=127, last_line="bash: trian: command not found"),
            Verdict("failed", "command_not_found", "bash: trian: command not found"),
        ),
        (
            RAN._replace(exit_code=1, room_bytes=0),
            Verdict("failed", "disk_full", "no room on the disk of /work/x; the command ended with code 1"),
        ),
        (
            Facts(staging=("input_missing", "store://b/x: gone")),
            Verdict("failed", "input_missing", "store://b/x: gone"),
        ),
        (
            RAN._replace(exit_code=0, upload=("upload_failed", "the server refused")),
            Verdict("failed", "upload_failed", "the server refused"),
        ),
        (
            RAN._replace(exit_code=5, upload=("upload_failed", "the server refused")),
            Verdict("failed", "exit_code", "the command ended with code 5; the server refused"),
        ),
        (Facts(last_line="bwrap: no"), Verdict("failed", "start_failed", "bwrap: no")),
        (RAN, Verdict("failed", "killed_by_signal", "the task was killed from outside (SIGKILL)")),
    ],
)
def test_judge(facts: Facts, verdict: Verdict) -> None:
    assert judge(facts) == verdict
    assert verdict.state in {state.value for state in TaskState}
    assert verdict.reason in {"", *CATALOGUE}
