"""The catalogue of reasons: why a job waits, and why it ended.

Every waiting and every ended job has a code of this table and a message with the details.
`docs/reference/reasons.md` is generated from it.
"""

from __future__ import annotations

from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from danlu.spec.states import Word


class Fault(Word):
    """Who can fix it."""

    NOBODY = "nobody"
    USER = "user"
    PLATFORM = "platform"
    TRANSIENT = "transient"


class Reason(BaseModel):
    """A code of the catalogue, with details."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: str
    message: str


class Entry(NamedTuple):
    cause: str
    fault: Fault
    remedy: str
    is_retried: bool
    """Whether a retry policy without reason codes covers it."""


CATALOGUE: dict[str, Entry] = {
    # waiting
    "submitted": Entry(
        "The job is new; the scheduler has not considered it yet.", Fault.NOBODY, "Wait a moment.", False
    ),
    "no_capacity": Entry(
        "The resources that the job requests are in use.",
        Fault.NOBODY,
        "Wait, stop a job that holds them, or request less.",
        False,
    ),
    "quota_project": Entry(
        "The job would exceed the quota of its project.",
        Fault.USER,
        "Wait for other jobs of the project to end, ask an admin for a larger quota, or submit the job with "
        "`preemptible: true`. `danlu quota show` lists what is held.",
        False,
    ),
    "quota_user": Entry(
        "The job would exceed the quota of its owner in the project.",
        Fault.USER,
        "Wait for your other jobs to end, ask an owner of the project for a larger quota, or submit the job with "
        "`preemptible: true`. `danlu quota show` lists what is held.",
        False,
    ),
    "making_room": Entry(
        "Preemptible jobs are being stopped to free resources for this job.",
        Fault.NOBODY,
        "Wait until they have ended; they have their grace period to save their work.",
        False,
    ),
    "reserved": Entry(
        "The job has waited long, so nodes are reserved for it as they become free.",
        Fault.NOBODY,
        "Wait until the jobs on these nodes have ended. `danlu why` estimates when, if they have time limits.",
        False,
    ),
    "preempted": Entry(
        "The job was stopped for another one. It is queued at its old position, with the same output and checkpoints.",
        Fault.NOBODY,
        "Wait: it starts again when resources are free. A script that saves checkpoints continues from the last one.",
        False,
    ),
    "no_such_node": Entry(
        "The job requests more than any node has, even an empty one.",
        Fault.USER,
        "Request less, or add a node. `danlu nodes` lists what the nodes have.",
        False,
    ),
    "drained": Entry(
        "Only drained nodes have what the job requests, and no jobs are started there.",
        Fault.PLATFORM,
        "Wait until an admin resumes scheduling on them (`danlu nodes` shows why they are drained), or request less.",
        False,
    ),
    "no_nodes": Entry(
        "No node is online.",
        Fault.PLATFORM,
        "Check `danlu nodes` and the server's log.",
        False,
    ),
    "retry_wait": Entry(
        "The last attempt failed, and the retry is delayed.", Fault.NOBODY, "Wait for the retry.", False
    ),
    "paused": Entry("The job is paused.", Fault.NOBODY, "Run `danlu resume` to queue it again.", False),
    # live
    "starting": Entry(
        "Tasks are being started and inputs are being fetched.", Fault.NOBODY, "Wait until the command runs.", False
    ),
    "running": Entry("The command runs on every node.", Fault.NOBODY, "Run `danlu logs -f` to follow it.", False),
    "finishing": Entry(
        "The tasks that decide about success have succeeded; the others are being stopped.",
        Fault.NOBODY,
        "Wait until they have ended. The field `success` of the job says which tasks decide.",
        False,
    ),
    "stopping": Entry(
        "The job is being stopped; its processes have their grace period to end.",
        Fault.NOBODY,
        "Wait until they end.",
        False,
    ),
    "unreachable": Entry(
        "The node is offline. The job is kept, because it may still be running.",
        Fault.PLATFORM,
        "Check the node. The job continues as soon as the node is online.",
        False,
    ),
    # ends
    "done": Entry("Completed on all nodes.", Fault.NOBODY, "Run `danlu store ls` to see the output.", False),
    "exit_code": Entry(
        "The command ended with a code other than 0.",
        Fault.USER,
        "Read the last log lines of the rank in the message.",
        True,
    ),
    "killed_by_signal": Entry(
        "The command was killed by a signal.",
        Fault.USER,
        "Read the last log lines of the rank in the message. SIGSEGV and SIGABRT mean that the program crashed.",
        True,
    ),
    "out_of_memory": Entry(
        "The command used more memory than the job requests.",
        Fault.USER,
        "Increase resources.memory, or use less memory.",
        False,
    ),
    "disk_limit": Entry(
        "The task exceeded its limit of disk space, or one of its files did.",
        Fault.USER,
        "Write less, remove old checkpoints, or ask an admin for a higher `max_disk_bytes`.",
        False,
    ),
    "process_limit": Entry(
        "The task reached the limit of processes and threads, and failed when it could not start another.",
        Fault.USER,
        "Start fewer workers or threads (OMP_NUM_THREADS), or ask an admin for a higher `max_processes`.",
        False,
    ),
    "environment_failed": Entry(
        "The packages of `requirements` could not be installed.",
        Fault.USER,
        "Read the job's log: it has the output of the installer. Correct the requirements, or the index that they are "
        "fetched from.",
        False,
    ),
    "setup_failed": Entry(
        "The setup script failed.",
        Fault.USER,
        "Read the beginning of the log: it is the output of the setup script.",
        False,
    ),
    "pre_start_failed": Entry(
        "The script ma-pre-start.sh next to the boot file failed.",
        Fault.USER,
        "Read the beginning of the log: it is the output of that script.",
        False,
    ),
    "command_not_found": Entry(
        "The command does not exist in the job, or is not executable.",
        Fault.USER,
        "Check the spelling, the code folder and the file's execute bit; `danlu plan` shows the command.",
        False,
    ),
    "input_missing": Entry(
        "Code or data of the job is not in the store.",
        Fault.USER,
        "Upload it again. `danlu store ls` lists what is stored.",
        False,
    ),
    "image_missing": Entry(
        "The image does not exist, or the job has no access to it.",
        Fault.USER,
        "Check the name. For a private image set image_login.",
        False,
    ),
    "image_failed": Entry(
        "The image could not be pulled.",
        Fault.TRANSIENT,
        "Start the job again. If it persists, pull the image on the node manually.",
        True,
    ),
    "staging_failed": Entry(
        "Inputs could not be fetched from the store.",
        Fault.TRANSIENT,
        "Start the job again. If it persists, check the server's log.",
        True,
    ),
    "upload_failed": Entry(
        "The command ended, but its output could not be uploaded.",
        Fault.TRANSIENT,
        "Copy the files from the folder in the message; the node keeps them until the job is deleted.",
        False,
    ),
    "disk_full": Entry("A disk is full.", Fault.PLATFORM, "Free space on the disk in the message.", False),
    "start_failed": Entry(
        "The engine could not start the tasks.",
        Fault.PLATFORM,
        "Fix what the message says, and start the job again.",
        True,
    ),
    "start_timeout": Entry(
        "The tasks did not start in time.",
        Fault.PLATFORM,
        "Check the node and the size of the inputs, and start the job again.",
        True,
    ),
    "lost": Entry(
        "The process that supervises a task disappeared without recording an end.",
        Fault.TRANSIENT,
        "The node may have rebooted. Start the job again, or give it a retry policy.",
        True,
    ),
    "stopped_outside": Entry(
        "A task was terminated from outside Danlu.",
        Fault.TRANSIENT,
        "The machine may have been shut down. Start the job again, or give it a retry policy.",
        True,
    ),
    "cut_off": Entry(
        "A node had no contact with its cluster for too long, and stopped the task.",
        Fault.TRANSIENT,
        "Check the network of the node. Start the job again, or give it a retry policy.",
        True,
    ),
    "queue_timeout": Entry(
        "The job waited longer than its max_wait.",
        Fault.USER,
        "Submit it again with a longer max_wait or a smaller request.",
        False,
    ),
    "max_duration": Entry("The job ran longer than its max_duration.", Fault.USER, "Increase max_duration.", False),
    "idle_limit": Entry(
        "The job was idle for as long as its idle_limit.",
        Fault.NOBODY,
        "Start it again with `danlu start`; a longer idle_limit lets it wait longer.",
        False,
    ),
    "stopped_by_user": Entry(
        "The job was stopped by a user.", Fault.NOBODY, "Run `danlu start` to run it again.", False
    ),
    "cannot_plan": Entry(
        "The job cannot run with this configuration.",
        Fault.USER,
        "Fix what the message says, and submit the job again.",
        False,
    ),
}


def reason(code: str, message: str = "") -> Reason:
    """Create a reason; the default message is the cause in the catalogue."""
    return Reason(code=code, message=message or CATALOGUE[code].cause)
