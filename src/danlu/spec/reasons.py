"""The catalogue of reasons: why a job waits, and why it ended.

Every waiting and every ended job carries one code of this table, plus a sentence with the particulars.
`docs/reference/reasons.md` is made from it.
"""

from __future__ import annotations

from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from danlu.spec.states import Word


class Fault(Word):
    """Who can do something about it."""

    NOBODY = "nobody"
    USER = "user"
    PLATFORM = "platform"
    TRANSIENT = "transient"


class Reason(BaseModel):
    """A code of the catalogue with the particulars of this case."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: str
    message: str


class Entry(NamedTuple):
    cause: str
    fault: Fault
    remedy: str
    is_retried: bool
    """Whether a retry policy that names no reasons covers it."""


CATALOGUE: dict[str, Entry] = {
    # waiting
    "submitted": Entry("The scheduler has not looked at the job yet.", Fault.NOBODY, "Wait a moment.", False),
    "no_capacity": Entry(
        "What the job asks for is in use.",
        Fault.NOBODY,
        "Wait, stop a job that holds it, or ask for less.",
        False,
    ),
    "quota_project": Entry(
        "The project's quota has no room for the job.",
        Fault.USER,
        "Wait for the project's jobs, ask an admin for a larger quota, or submit it with `preemptible: true`: "
        "`danlu quota show` tells what is used.",
        False,
    ),
    "quota_user": Entry(
        "Its owner's quota in the project has no room for the job.",
        Fault.USER,
        "Wait for your own jobs, ask an owner of the project for a larger quota, or submit it with "
        "`preemptible: true`: `danlu quota show` tells what is used.",
        False,
    ),
    "making_room": Entry(
        "Jobs that hold what it asks for are ending: preemptible ones make room for it.",
        Fault.NOBODY,
        "Wait: they have their grace to save their work.",
        False,
    ),
    "reserved": Entry(
        "The job has waited long for room, so nodes are kept for it as they become free.",
        Fault.NOBODY,
        "Wait: it starts when the jobs that run there have ended; `danlu why` tells when that is, if anybody knows.",
        False,
    ),
    "preempted": Entry(
        "The job made room for another one, and runs again: same output, same checkpoints, same place in the queue.",
        Fault.NOBODY,
        "Wait. A script that saves checkpoints goes on where it was.",
        False,
    ),
    "no_such_node": Entry(
        "No node, even an empty one, has what the job asks for.",
        Fault.USER,
        "Ask for less, or add a node: `danlu nodes` shows what there is.",
        False,
    ),
    "drained": Entry(
        "What the job asks for is only on nodes that are drained: nothing new is started there.",
        Fault.PLATFORM,
        "Wait until they are opened again (`danlu nodes` shows why they are not), or ask for less.",
        False,
    ),
    "no_nodes": Entry(
        "No node can be reached at the moment.",
        Fault.PLATFORM,
        "Look at `danlu nodes` and at the server's log.",
        False,
    ),
    "retry_wait": Entry("The job is tried again after a pause.", Fault.NOBODY, "Wait.", False),
    "paused": Entry("Somebody paused the job.", Fault.NOBODY, "`danlu resume` puts it back in the queue.", False),
    # on the way
    "starting": Entry("Tasks are being started and inputs fetched.", Fault.NOBODY, "Wait.", False),
    "running": Entry("The command runs on every node.", Fault.NOBODY, "`danlu logs -f` follows it.", False),
    "finishing": Entry(
        "The tasks that decide about the job's success ended well, and the others are told to end.",
        Fault.NOBODY,
        "Wait. `success` in the job says who decides.",
        False,
    ),
    "stopping": Entry("The job was told to end and has its grace period.", Fault.NOBODY, "Wait.", False),
    "unreachable": Entry(
        "The node does not answer. The job is not ended: it may well be running.",
        Fault.PLATFORM,
        "Look at the node; the job is found again when the node is.",
        False,
    ),
    # ends
    "done": Entry("The command ended with 0 on every node.", Fault.NOBODY, "Look at the output.", False),
    "exit_code": Entry(
        "The command ended with another code than 0.",
        Fault.USER,
        "Read the last lines of the rank that is named.",
        True,
    ),
    "killed_by_signal": Entry(
        "A signal from inside or outside ended the command.",
        Fault.USER,
        "Read the last lines of the rank that is named; SIGSEGV and SIGABRT are crashes of the program.",
        True,
    ),
    "out_of_memory": Entry(
        "The command used more memory than the job asked for.",
        Fault.USER,
        "Raise resources.memory, or use less.",
        False,
    ),
    "disk_limit": Entry(
        "The task held more on the disk than a task may, or a file of it grew beyond that.",
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
    "setup_failed": Entry(
        "The setup command ended with another code than 0.",
        Fault.USER,
        "Read the log: it begins with the output of setup.",
        False,
    ),
    "pre_start_failed": Entry(
        "The ma-pre-start.sh beside the boot file ended with another code than 0.",
        Fault.USER,
        "Read the log: it begins with the output of that script.",
        False,
    ),
    "command_not_found": Entry(
        "The command does not exist in the job, or may not be executed.",
        Fault.USER,
        "Check the spelling, the code folder and the file's execute bit; `danlu plan` shows the command.",
        False,
    ),
    "input_missing": Entry(
        "Code or data of the job is not in the store (any more).",
        Fault.USER,
        "Upload it again: `danlu store ls` shows what is there.",
        False,
    ),
    "image_missing": Entry(
        "The image does not exist, or may not be fetched with what the job has.",
        Fault.USER,
        "Check the name; for a private one give image_login.",
        False,
    ),
    "image_failed": Entry(
        "The image could not be brought to the node.",
        Fault.TRANSIENT,
        "Try again; if it persists, try to fetch it on the node by hand.",
        True,
    ),
    "staging_failed": Entry(
        "Inputs could not be fetched from the store.",
        Fault.TRANSIENT,
        "Try again; if it persists, look at the server's log.",
        True,
    ),
    "upload_failed": Entry(
        "The command ended, but its output could not be brought to the store.",
        Fault.TRANSIENT,
        "The files are kept in the task's folder on its node until the job is deleted; the message names it.",
        False,
    ),
    "disk_full": Entry("A disk has no room left.", Fault.PLATFORM, "Make room on the disk that is named.", False),
    "start_failed": Entry("The engine could not start the tasks.", Fault.PLATFORM, "Read the message.", True),
    "start_timeout": Entry(
        "The tasks did not begin in time.",
        Fault.PLATFORM,
        "Look at the node and at the size of the inputs.",
        True,
    ),
    "lost": Entry(
        "The process that watched over a task is gone, and left no record of an end.",
        Fault.TRANSIENT,
        "The node may have been restarted. Start the job again, or give it a retry policy.",
        True,
    ),
    "stopped_outside": Entry(
        "Something outside of Danlu told a task to end.",
        Fault.TRANSIENT,
        "The machine may have been shut down. Start the job again, or give it a retry policy.",
        True,
    ),
    "queue_timeout": Entry(
        "The job waited longer than its max_wait.",
        Fault.USER,
        "Submit it again with a longer max_wait or a smaller request.",
        False,
    ),
    "max_duration": Entry("The job ran longer than its max_duration.", Fault.USER, "Raise max_duration.", False),
    "stopped_by_user": Entry("Somebody stopped the job.", Fault.NOBODY, "`danlu start` runs it again.", False),
    "cannot_plan": Entry("The job cannot be planned as it stands.", Fault.USER, "Read the message.", False),
}


def reason(code: str, message: str = "") -> Reason:
    """Make a reason; without particulars it says what the catalogue says."""
    return Reason(code=code, message=message or CATALOGUE[code].cause)
