"""A pytest plugin that measures CPU time instead of wall time: what a test costs on a machine that others use too.

    pytest -p tests.support.cpu_time ...        prints CPU seconds by folder, and the tests that cost most

Each worker puts itself into a control group of its own, so that every process that a test starts is counted, the ones
that outlive it as well. What a shared server does is counted for the test during which it does it.

A core that others use too does less in a second: a small loop is timed beside the tests, and seconds are those of a
core that does this loop as fast as it ever did.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

NUM_SHOWN = 40
_V1, _V2 = Path("/sys/fs/cgroup/cpuacct"), Path("/sys/fs/cgroup")
_PROPERTY = "cpu_seconds"
_LOOP = range(100_000)


class Group:
    """A control group, version 1 or 2, of this process and all its descendants."""

    def __init__(self) -> None:
        self._is_v1 = _V1.is_dir()
        self._parent = _V1 if self._is_v1 else _V2
        self._folder = self._parent / f"danlu-tests-{os.getpid()}"
        try:
            self._folder.mkdir()
            (self._folder / "cgroup.procs").write_text(str(os.getpid()))
        except OSError as error:
            raise pytest.UsageError(f"CPU time needs a control group, which cannot be created here: {error}") from error

    def seconds(self) -> float:
        if self._is_v1:
            return int((self._folder / "cpuacct.usage").read_text()) / 1e9
        return int((self._folder / "cpu.stat").read_text().split()[1]) / 1e6

    def close(self) -> None:
        for pid in (self._folder / "cgroup.procs").read_text().split():
            (self._parent / "cgroup.procs").write_text(pid)
        self._folder.rmdir()


class Recorder:
    """Runs in each worker; what it finds travels with the reports."""

    def __init__(self) -> None:
        self._group = Group()
        self._loop_seconds, self._timed_at = 0.0, 0.0

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self) -> Iterator[None]:
        if time.monotonic() > self._timed_at + 1:
            began = time.thread_time()
            sum(_LOOP)
            self._loop_seconds, self._timed_at = time.thread_time() - began, time.monotonic()
        self._last = self._group.seconds()
        yield

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[None]:
        now = self._group.seconds()
        item.user_properties[:] = [pair for pair in item.user_properties if pair[0] != _PROPERTY]
        item.user_properties.append((_PROPERTY, (now - self._last, self._loop_seconds)))
        self._last = now
        yield

    def pytest_unconfigure(self) -> None:
        self._group.close()


class Summary:
    """Runs where the results are printed."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._tests: dict[str, dict[str, list[float]]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == _PROPERTY and isinstance(value, (list, tuple)):
                spent, loop = value
                self._tests.setdefault(report.nodeid, {})[str(report.when)] = [spent, report.duration, loop]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        fastest = min((phase[2] for phases in self._tests.values() for phase in phases.values()), default=1.0)
        for phases in self._tests.values():
            for phase in phases.values():
                phase[0] *= fastest / phase.pop()
        cost = {name: sum(phase[0] for phase in phases.values()) for name, phases in self._tests.items()}
        folders: Counter[str] = Counter()
        for name, seconds in cost.items():
            folders["/".join(name.partition("::")[0].split("/")[:-1])] += seconds  # type: ignore[assignment]
        write = terminalreporter.write_line
        write(f"CPU seconds by folder: {sum(cost.values()):.0f} in all")
        for folder, seconds in folders.most_common():
            write(f"{seconds:8.1f}  {folder}")
        write(f"CPU seconds of the {NUM_SHOWN} tests that cost most")
        for name in sorted(cost, key=lambda name: -cost[name])[:NUM_SHOWN]:
            write(f"{cost[name]:8.1f}  {name}")
        if self._path:
            Path(self._path).write_text(json.dumps(self._tests, indent=0))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cpu-time-file", default="", help="write CPU and wall seconds of each phase of each test there")


def pytest_configure(config: pytest.Config) -> None:
    is_worker = hasattr(config, "workerinput")
    if is_worker or not config.getoption("numprocesses", None):
        config.pluginmanager.register(Recorder())
    if not is_worker:
        config.pluginmanager.register(Summary(str(config.getoption("--cpu-time-file"))))
