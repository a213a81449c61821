"""Measures what a task uses, beside it: a few reads of /proc every few seconds, in the shim that is there anyway.

Of processor time and of bytes read and written nothing is lost when a process ends: the kernel adds what a process
used to the one that waits for it, and the last of those is the shim.
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
"""So many looks come sooner than the others: a job that is over soon is to be seen as well."""

SHORTEST_SECONDS = 0.2
"""Rates over less than this say nothing: what the last moment of a task used is told as if it had lasted so long."""

OLD_LOOKS = 3
"""What was read of devices before so many looks is not true any more."""

_TICKS = float(os.sysconf("SC_CLK_TCK"))
_PAGE = os.sysconf("SC_PAGE_SIZE")
_BLOCK = 512
"""What the kernel counts reads and writes of an ended process in."""


class Counts(NamedTuple):
    """Sums since the start, and what is held now."""

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
    """Stands where nothing is to be measured, or nothing can be."""

    def look(self, spared: tuple[int, ...]) -> None:
        """Write down what was used since the last look, if it is time. `spared` are children that are Danlu's own."""

    def reaped(self, pid: int, used: resource.struct_rusage) -> None:
        """A child of the shim has ended, and with it all that it waited for."""

    def finish(self) -> None:
        """All processes have ended."""


def begin_use(folder: str, wanted: TaskUsage, *, groups: Groups, init_pid: int) -> NotMeasured:
    """Begin to measure, if that is wanted. A full disk takes the measurement, not the task."""
    if not wanted.every_seconds:
        return NotMeasured()
    try:
        return Sampler(folder, wanted, groups=groups, init_pid=init_pid)
    except OSError as error:
        print(f"what this task uses is not measured: {error}", file=sys.stderr, flush=True)
        return NotMeasured()


class Sampler(NotMeasured):
    """Looks at the processes below the shim; all calls come from its one thread."""

    def __init__(self, folder: str, wanted: TaskUsage, *, groups: Groups, init_pid: int) -> None:
        """Raise OSError when the file cannot be begun."""
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
        # the shim wakes up once a second, and not quite on time
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
        # a process that ended between two reads is missed for a moment: what was counted stays counted
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
            with contextlib.suppress(OSError, ValueError, IndexError):  # it ended while it was looked at
                of_it, private = _of_process(pid)
                found, private_bytes = found.plus(of_it), private_bytes + private
        memory = self._groups.memory_bytes()
        received, sent = _network(self._net_pid)
        return found._replace(
            memory_bytes=float(private_bytes if memory is None else memory), received_bytes=received, sent_bytes=sent
        )

    def _read_devices(self) -> tuple[float, float]:
        """How busy the task's devices are, and how much is on them. A process of its own asks, for all tasks here."""
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
    """The processes below this one, but for the spared ones and what is below them."""
    try:
        waiting = [pid for pid in _children(os.getpid()) if pid not in spared]
        found = []
        while waiting:
            pid = waiting.pop()
            found.append(pid)
            with contextlib.suppress(ProcessLookupError, FileNotFoundError):
                waiting += _children(pid)
        return found
    except FileNotFoundError:  # a kernel without such lists
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
    """What a process and those it has waited for used, and the memory that is its alone."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    ticks = sum(map(int, fields[11:15]))
    with open(f"/proc/{pid}/statm", "rb") as file:
        _, resident, shared, *_ = map(int, file.read().split())
    read_bytes = written_bytes = 0
    with contextlib.suppress(OSError):  # of somebody else's process this is not told
        with open(f"/proc/{pid}/io", "rb") as file:
            told = dict(line.split(b": ") for line in file)
        read_bytes, written_bytes = int(told[b"read_bytes"]), int(told[b"write_bytes"])
    return Counts(ticks / _TICKS, read_bytes, written_bytes), (resident - shared) * _PAGE


def _network(pid: int) -> tuple[Optional[int], Optional[int]]:
    """Bytes that came to and left all interfaces of the network that a process is in; 0: there is none to look at."""
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
