"""Measure the resource usage of a task from its shim, with a few reads of /proc every few seconds.

CPU time and I/O of ended processes are not lost: the kernel adds them to the process that waits for them, which in the
end is the shim.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
import time
from typing import NamedTuple, Optional

from danlu.journal.usage import NOT_MEASURED, Cell
from danlu.node.measure.usage_file import UsageFile
from danlu.node.supervise.cgroup import Groups
from danlu.node.supervise.processes import descendants, processes
from danlu.node.task import TaskUsage

FIRST_SECONDS, NUM_FIRST = 1.0, 10
"""The first NUM_FIRST samples are taken more often, so that short jobs have some."""

SHORTEST_SECONDS = 0.2
"""Minimum length of an interval for rates: a shorter last interval counts as this long."""

OLD_LOOKS = 3
"""Device values older than this many intervals are discarded."""

_TICKS = float(os.sysconf("SC_CLK_TCK"))
_PAGE = os.sysconf("SC_PAGE_SIZE")
_BLOCK = 512
"""Unit in which the kernel counts the I/O of ended processes."""


class Counts(NamedTuple):
    """Totals since the start, and the memory in use now."""

    cpu_seconds: float = 0.0
    read_bytes: int = 0
    written_bytes: int = 0
    memory_bytes: float = NOT_MEASURED
    received_bytes: Optional[int] = None
    sent_bytes: Optional[int] = None

    def plus(self, other: Counts) -> Counts:
        return self._replace(
            cpu_seconds=self.cpu_seconds + other.cpu_seconds,
            read_bytes=self.read_bytes + other.read_bytes,
            written_bytes=self.written_bytes + other.written_bytes,
        )


class NotMeasured:
    """Used when nothing is to be measured, or nothing can be."""

    def look(self, spared: tuple[int, ...]) -> None:
        """Record the usage since the last sample, if one is due. `spared`: children that belong to Danlu."""

    def reaped(self, pid: int, used: resource.struct_rusage) -> None:
        """Add the usage of a child that has ended, including its own ended children."""

    def finish(self) -> None:
        """Record the last sample, after all processes have ended."""


def begin_use(folder: str, wanted: TaskUsage, *, groups: Groups, init_pid: int) -> NotMeasured:
    """Start to measure, if requested. Errors such as a full disk disable the measurement, not the task."""
    if not wanted.every_seconds:
        return NotMeasured()
    try:
        return Sampler(folder, wanted, groups=groups, init_pid=init_pid)
    except OSError as error:
        print(f"what this task uses is not measured: {error}", file=sys.stderr, flush=True)
        return NotMeasured()


class Sampler(NotMeasured):
    """Samples the processes below the shim. Not thread-safe: the shim has one thread."""

    def __init__(self, folder: str, wanted: TaskUsage, *, groups: Groups, init_pid: int) -> None:
        """Raise OSError when the file cannot be created."""
        self._every = wanted.every_seconds
        self._file = UsageFile(folder, every_seconds=self._every)
        self._groups = groups
        self._net_pid = init_pid if wanted.counts_network else 0
        self._devices = wanted.devices
        self._device_file = wanted.device_file
        self._device_reader = wanted.device_reader
        self._reader_pid = 0
        self._ended = Counts()
        self._last, self._last_at = self._count(()), time.monotonic()
        self._num_looks = 0

    def look(self, spared: tuple[int, ...]) -> None:
        wanted = FIRST_SECONDS if self._num_looks < NUM_FIRST else self._every
        # the shim wakes up about once a second, not exactly
        if time.monotonic() - self._last_at >= min(wanted, self._every) - 0.1:
            self._add(self._count(spared))

    def reaped(self, pid: int, used: resource.struct_rusage) -> None:
        if pid == self._reader_pid:
            self._reader_pid = 0
            return
        self._ended = self._ended.plus(
            Counts(used.ru_utime + used.ru_stime, used.ru_inblock * _BLOCK, used.ru_oublock * _BLOCK)
        )

    def finish(self) -> None:
        self._add(self._ended)
        self._file.close()

    def _add(self, now: Counts) -> None:
        at = time.monotonic()
        seconds, before = max(at - self._last_at, SHORTEST_SECONDS), self._last
        device, device_memory = self._read_devices()
        means = (
            max(0.0, now.cpu_seconds - before.cpu_seconds) / seconds,
            now.memory_bytes,
            max(0, now.read_bytes - before.read_bytes) / seconds,
            max(0, now.written_bytes - before.written_bytes) / seconds,
            _rate(before.received_bytes, now.received_bytes, seconds),
            _rate(before.sent_bytes, now.sent_bytes, seconds),
            device,
            device_memory,
        )
        self._file.add(Cell(time.time(), seconds, means, means))
        # a process that ended between two reads is missed for a moment: totals never decrease
        self._last = now._replace(
            cpu_seconds=max(now.cpu_seconds, before.cpu_seconds),
            read_bytes=max(now.read_bytes, before.read_bytes),
            written_bytes=max(now.written_bytes, before.written_bytes),
        )
        self._last_at = at
        self._num_looks += 1

    def _count(self, spared: tuple[int, ...]) -> Counts:
        found, private_bytes = self._ended, 0
        for pid in _tree({*spared, self._reader_pid}):
            with contextlib.suppress(OSError, ValueError, IndexError):  # it ended during the read
                of_it, private = _of_process(pid)
                found, private_bytes = found.plus(of_it), private_bytes + private
        memory = self._groups.memory_bytes()
        received, sent = _network(self._net_pid)
        return found._replace(
            memory_bytes=float(private_bytes if memory is None else memory), received_bytes=received, sent_bytes=sent
        )

    def _read_devices(self) -> tuple[float, float]:
        """Mean utilization and total memory of the task's devices. A separate process reads them, for all tasks
        here."""
        if not self._devices:
            return NOT_MEASURED, NOT_MEASURED
        try:
            age = time.time() - os.stat(self._device_file).st_mtime
        except OSError:
            age = float("inf")
        if age > self._every / 2 and not self._reader_pid:
            self._start_reader()
        if age > OLD_LOOKS * self._every:
            return NOT_MEASURED, NOT_MEASURED
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            with open(self._device_file) as file:
                known = json.load(file)
            mine = [known[name] for name in self._devices if name in known]
            if mine:
                return sum(use for use, _ in mine) / len(mine), float(sum(held for _, held in mine))
        return NOT_MEASURED, NOT_MEASURED

    def _start_reader(self) -> None:
        argv = [*self._device_reader, self._device_file]
        nothing = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
        with contextlib.suppress(OSError):
            self._reader_pid = os.posix_spawn(argv[0], argv, dict(os.environ), file_actions=nothing, setsid=True)


def _rate(before: Optional[int], now: Optional[int], seconds: float) -> float:
    return NOT_MEASURED if before is None or now is None else max(0, now - before) / seconds


def _tree(spared: set[int]) -> list[int]:
    """The processes below this one, except the spared ones and their children."""
    try:
        waiting = [pid for pid in _children(os.getpid()) if pid not in spared]
        found = []
        while waiting:
            pid = waiting.pop()
            found.append(pid)
            with contextlib.suppress(ProcessLookupError, FileNotFoundError):
                waiting += _children(pid)
        return found
    except FileNotFoundError:  # a kernel without lists of children
        parents = processes()
        own = [pid for pid, parent in parents.items() if parent == os.getpid() and pid not in spared]
        return [*own, *(below for pid in own for below in descendants(pid, parents))]


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
            found += map(int, file.read().split())
    return found


def _of_process(pid: int) -> tuple[Counts, int]:
    """Return what a process and its waited-for children used, and its private memory."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    ticks = sum(map(int, fields[11:15]))
    with open(f"/proc/{pid}/statm", "rb") as file:
        _, resident, shared, *_ = map(int, file.read().split())
    read_bytes = written_bytes = 0
    with contextlib.suppress(OSError):  # not readable for processes of other users
        with open(f"/proc/{pid}/io", "rb") as file:
            told = dict(line.split(b": ") for line in file)
        read_bytes, written_bytes = int(told[b"read_bytes"]), int(told[b"write_bytes"])
    return Counts(ticks / _TICKS, read_bytes, written_bytes), (resident - shared) * _PAGE


def _network(pid: int) -> tuple[Optional[int], Optional[int]]:
    """Bytes received and sent on all interfaces of a process's network; None without a process."""
    if not pid:
        return None, None
    received = sent = 0
    try:
        with open(f"/proc/{pid}/net/dev") as file:
            for line in file.readlines()[2:]:
                values = line.partition(":")[2].split()
                received, sent = received + int(values[0]), sent + int(values[8])
    except OSError:
        return None, None
    return received, sent
