"""Leftovers of a server's jobs on this machine: processes, network namespaces, mounts, folders. Read from /proc."""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from danlu.testing.waiting import HANG_SECONDS

NAMED_NAMESPACES = Path("/run/netns")
_NET = re.compile(r"net:\[\d+\]")


class Process(NamedTuple):
    pid: int
    command: str
    job: str
    """Job and attempt, from its environment variables; empty for a process outside of the command."""

    attempt: str


class Footprint:
    """Leftovers of one data folder. Call `look` while jobs run, so that `left` knows which processes keep networks."""

    def __init__(self, data_dir: Path) -> None:
        self._work = str(data_dir.resolve() / "work")
        self._database = data_dir / "server" / "danlu.db"
        self._own = os.readlink("/proc/self/ns/net")
        self._holders: dict[int, str] = {}
        """Processes that were in a job's network or keep it alive, with their start times, because pids are reused."""

        self._named_before = _named_namespaces()

    def look(self) -> list[Process]:
        """Return the current processes of jobs, and remember which processes use their networks."""
        jobs = job_ids(self._database)
        networks = {pid: _networks(pid) for pid in _pids()}
        found = [process for process in (self._belongs(pid, jobs) for pid in networks) if process is not None]
        theirs = {network for process in found for network in networks[process.pid]} - {self._own}
        self._holders.update({pid: _began(pid) for pid, held in networks.items() if held & theirs})
        return found

    def left(self) -> list[str]:
        """Leftovers, assuming that all jobs have ended: one sentence each."""
        said = [f"process {item.pid} of {item.job or 'a task'}: {item.command}" for item in self.look()]
        for pid, began in self._holders.items():
            if began and _began(pid) == began:
                said.append(f"process {pid} ({_command(pid)}) keeps a network")
        said += [f"mount {line}" for line in _mounts() if f"{self._work}/" in line]
        said += [
            f"named network {name}" for name in _named_namespaces() - self._named_before if name.startswith("danlu")
        ]
        return said

    def folders(self) -> list[str]:
        """Folders of attempts that still exist: `<job>/<attempt>`."""
        return sorted(f"{path.parent.name}/{path.name}" for path in Path(self._work).glob("*/*"))

    def _belongs(self, pid: int, jobs: set[str]) -> Process | None:
        try:
            env = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")
        except OSError:
            return None
        values = dict(item.split("=", 1) for item in env.split("\0") if "=" in item)
        job, attempt = values.get("DANLU_JOB_ID", ""), values.get("DANLU_ATTEMPT", "")
        command = _command(pid)
        if job in jobs or f"{self._work}/" in command or self._holds_a_file(pid):
            return Process(pid, command, job, attempt)
        return None

    def _holds_a_file(self, pid: int) -> bool:
        """Whether a process has a file below the work folder open. Servers, which do so briefly, do not count."""
        if "danlu up" in _command(pid).replace("-m ", "") or pid == os.getpid():
            return False
        return any(link.startswith(f"{self._work}/") for link in _links(pid))


def job_ids(database: Path) -> set[str]:
    with closing(sqlite3.connect(database, timeout=HANG_SECONDS)) as connection:
        return {job_id for (job_id,) in connection.execute("SELECT id FROM jobs")}


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").replace("\0", " ").strip()
    except OSError:
        return ""


def _began(pid: int) -> str:
    """Start time of a process in ticks since boot; empty if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in ("Z", "X") else fields[19]


def _links(pid: int) -> list[str]:
    found = []
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return []
    for name in names:
        try:
            found.append(os.readlink(f"/proc/{pid}/fd/{name}"))
        except OSError:
            continue
    return found


def _networks(pid: int) -> set[str]:
    """The network namespaces that a process is in, or keeps alive by a descriptor."""
    found = {link for link in _links(pid) if _NET.fullmatch(link)}
    with suppress(OSError):  # it has ended meanwhile
        found.add(os.readlink(f"/proc/{pid}/ns/net"))
    return found


def _mounts() -> list[str]:
    return Path("/proc/self/mountinfo").read_text().splitlines()


def _named_namespaces() -> set[str]:
    return set(os.listdir(NAMED_NAMESPACES)) if NAMED_NAMESPACES.is_dir() else set()
