"""Owns one task from start to end. Outlives the server and communicates only through the files in the task's folder.

Order: inputs (stager) -> command in its sandbox (init) -> outputs (stager) -> exit record. A stop is honoured at every
step. Nothing here may fail on a full disk: records use reserved blocks.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Mapping

from danlu.node.codec import Malformed
from danlu.node.measure.disk_watch import DiskWatch
from danlu.node.measure.usage import NotMeasured, begin_use
from danlu.node.supervise import linux, network
from danlu.node.supervise.cgroup import Groups, make_groups
from danlu.node.supervise.door import open_door
from danlu.node.supervise.environment_process import hold_environment, make_environment
from danlu.node.supervise.image_root import hold_image
from danlu.node.supervise.init_process import InitProcess, Surroundings
from danlu.node.supervise.last_look import look_at_the_end
from danlu.node.supervise.lease import Lease
from danlu.node.supervise.log_copy import LogCopy
from danlu.node.supervise.orders import Ended, Event, Executed, NotStarted, Started
from danlu.node.supervise.processes import end_descendants
from danlu.node.supervise.records import CONTROL, EXIT, LOCK, LOG, STATUS, Marks, Records, boot_id, take_lock
from danlu.node.supervise.stager_process import StagerProcess, has_files, note_fetched, split_secrets
from danlu.node.supervise.stop_file import leave_notice
from danlu.node.supervise.verdict import Facts, judge
from danlu.node.supervise.way_out import ClosedAddresses
from danlu.node.task import TaskImage, read_task

TICK_SECONDS = 1.0
KILL_MARGIN_SECONDS = 5.0
"""How long after the grace period the shim waits before it kills what init has not ended."""

EXCEEDED_GRACE_SECONDS = 5.0
"""Grace period of a task that exceeds a limit. Short, because the task keeps using more meanwhile."""

OUT_LOOK_SECONDS = 2.0
"""How often to look for the first output file while no stager runs."""


class AlreadyStarted(Exception):
    """The task of this folder has, or had, a shim."""


class Shim:
    def __init__(
        self, folder: str, *, secrets: Mapping[str, str], net: network.Network | None, closed: ClosedAddresses
    ) -> None:
        """Take over the folder. Raise AlreadyStarted, TaskUnreadable, or OSError when a record cannot be written."""
        lock = take_lock(os.path.join(folder, LOCK), wait_seconds=1.0)
        if lock is None or os.path.exists(os.path.join(folder, STATUS)):
            raise AlreadyStarted(folder)
        self._folder = folder
        self._lock = lock
        self._net, self._closed = net, closed
        self._task = read_task(folder)
        # the registry's password is for Danlu, not for the command
        self._image_password, self._input_secrets, own = split_secrets(self._task, secrets)
        self._env = {**self._task.env, **own}
        self._records = Records(folder, num_reserved=5)
        self._boot_id = boot_id()
        self._log = os.open(os.path.join(folder, LOG), os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._marks = Marks(folder)
        self._log_copy = self._begin_copy()
        self._control = os.open(os.path.join(folder, CONTROL), os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._listen_to_signals()
        linux.adopt_orphans()
        self._door = open_door(folder, net)

        self._started_at: float | None = None
        self._ended_at: float | None = None
        self._stop_at: float | None = None
        """When (monotonic) the grace period ends."""
        self._stop_was_asked = self._stop_was_ordered = False
        self._last_grace_seconds = 0.0
        self._facts = Facts(limits=self._task.limits, folder=folder)
        self._disk = DiskWatch(folder, self._task.limits, uid=self._task.uid)
        self._lease = Lease(self._task.lease)
        self._init: InitProcess | None = None
        self._ended: dict[int, int] = {}
        self._out: StagerProcess | None = None
        self._use = NotMeasured()
        self._look_for_output_at = 0.0
        self._phase = "starting"
        self._groups = Groups()
        self._note("staging" if self._task.inputs or self._task.image or self._task.environment else "starting")

    def run(self) -> None:
        """Return when the exit record is written."""
        if self._task.image is not None:
            self._fetch_image(self._task.image)
        if self._task.inputs and self._facts.staging is None and not self._is_to_end:
            self._wait_for(StagerProcess.start(self._folder, "in", secrets=self._input_secrets))
        self._groups = self._make_groups()
        if self._task.environment is not None:
            self._make_environment()
        if self._facts.staging is None and not self._is_to_end:
            self._run_command()
        else:
            self._note_stop()
        self._groups.remove()
        self._send_outputs()
        self._finish()

    @property
    def _is_to_end(self) -> bool:
        return self._stop_was_asked or self._facts.exceeded is not None

    def _listen_to_signals(self) -> None:
        self._wake_up, woken = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        self._is_terminated = False
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._on_sigterm)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def _begin_copy(self) -> LogCopy | None:
        wanted = self._task.log_copy
        if wanted is None:
            return None
        try:
            return LogCopy(os.path.join(self._folder, LOG), wanted.folder, wanted.path, uid=self._task.uid)
        except OSError as error:
            self._say(f"the log is not copied to {wanted.path}: {error}")
            return None

    # inputs

    def _fetch_image(self, image: TaskImage) -> None:
        """Wait for the image. Variables of the job override those of the image."""
        while self._facts.staging is None and not self._is_to_end:
            self._wait_for(StagerProcess.fetch_image(self._folder, image, self._image_password))
            env = hold_image(self._folder) if self._facts.staging is None else None
            if env is not None:
                self._env = {**env, **self._env}
                return

    def _make_environment(self) -> None:
        while self._facts.staging is None and not self._is_to_end:
            step = make_environment(self._folder, self._task, env=self._env, groups=self._groups, net=self._net)
            self._wait_for(step)
            if self._facts.staging is None and hold_environment(self._folder):
                return

    def _wait_for(self, stager: StagerProcess) -> None:
        while not self._has_ended(stager.pid):
            self._wait()
            if self._is_to_end:
                stager.kill()
        self._facts = self._facts._replace(staging=stager.result(self._ended[stager.pid]))
        note_fetched(self._folder, self._task.inputs)

    # the command

    def _make_groups(self) -> Groups:
        groups, problems = make_groups(self._task.cgroups, self._task.name, self._task.limits)
        for problem in problems:
            self._say(problem)
        return groups

    def _run_command(self) -> None:
        around = Surroundings(self._folder, self._log, self._net, self._groups, max_file_bytes=self._disk.max_bytes)
        init = self._init = InitProcess.start(self._task, self._env, around)
        self._use = begin_use(self._folder, self._task.usage, groups=self._groups, init_pid=init.pid)
        kill_at = None
        while not self._has_ended(init.pid):
            if self._stop_at is not None:
                kill_at = self._stop_at + KILL_MARGIN_SECONDS
            if kill_at is not None and time.monotonic() >= kill_at:
                self._kill_all()
            self._wait(until=kill_at)
            self._watch_output()
            self._disk.look()
            self._use.look(self._own_processes())
        self._hear_init()
        init.close()
        self._kill_all()
        self._disk.stop()
        self._use.finish()
        self._ended_at = self._ended_at or time.time()
        if self._facts.exit_code is None:
            self._note_stop()
        self._facts = look_at_the_end(self._facts, self._task, self._groups, max_file_bytes=self._disk.max_bytes)

    def _say(self, problem: str) -> None:
        with contextlib.suppress(OSError):  # a full disk costs the message, not the task
            os.write(self._log, f"danlu: {problem}\n".encode())

    def _hear_init(self) -> None:
        if self._init is None:
            return
        try:
            for event in self._init.hear():
                self._take_note(event)
        except Malformed as error:
            self._say(f"the task is ended: its first process does not keep to the protocol: {error}")
            self._init.close()
            self._kill_all()

    def _take_note(self, event: Event) -> None:
        if isinstance(event, Started):
            self._started_at = event.at
            self._facts = self._facts._replace(did_start=True)
            self._note("running")
        elif isinstance(event, NotStarted):
            self._facts = self._facts._replace(failed_word=event.word, failed_errno=event.errno)
        elif isinstance(event, Executed) and self._door is not None:
            self._door.ended(event)
        elif isinstance(event, Ended) and self._ended_at is None:
            self._ended_at = event.at
            self._facts = self._facts._replace(exit_code=event.code)
            self._note_stop()

    def _note_stop(self) -> None:
        self._facts = self._facts._replace(was_stopped=self._stop_was_asked, was_ordered=self._stop_was_ordered)

    def _kill_all(self) -> None:
        """End all remaining processes of the task. A sandbox has none left once its first process has ended."""
        if self._task.wrap and self._init is not None and self._has_ended(self._init.pid):
            return
        end_descendants(self._own_processes(), self._collect)

    def _own_processes(self) -> tuple[int, ...]:
        """Children that belong to Danlu and not to the task."""
        return (self._out.pid if self._out is not None else 0, self._disk.pid)

    def _exceed(self, reason: str, problem: str) -> None:
        """End a task that exceeds a limit."""
        if self._facts.exceeded is not None or self._stop_was_asked:
            return
        self._facts = self._facts._replace(exceeded=(reason, problem))
        self._say(problem)
        self._stop_at = time.monotonic() + EXCEEDED_GRACE_SECONDS
        if self._init is not None:
            self._init.stop(EXCEEDED_GRACE_SECONDS)

    # outputs

    def _watch_output(self) -> None:
        """Start the stager once there is something to upload; it continues by itself until told to finish."""
        if self._out is not None or time.monotonic() < self._look_for_output_at:
            return
        self._look_for_output_at = time.monotonic() + OUT_LOOK_SECONDS
        if self._has_output(while_running=True):
            self._out = StagerProcess.start(self._folder, "out")

    def _has_output(self, *, while_running: bool) -> bool:
        """Whether there are files to upload, while the command runs or at its end."""
        paths = [output.path for output in self._task.outputs if output.while_running or not while_running]
        return any(has_files(self._folder, path) for path in (*paths, self._task.runs) if path)

    def _send_outputs(self) -> None:
        if self._out is None and not self._has_output(while_running=False):
            return
        self._note("uploading")
        was_asked_before, self._stop_at = self._stop_was_asked, None
        if self._out is not None and self._has_ended(self._out.pid):
            self._out.result(self._ended[self._out.pid])
            self._out = None  # it ended early; start another one for the final pass
        if self._out is None:
            self._out = StagerProcess.start(self._folder, "out")
        self._out.finish()
        while not self._has_ended(self._out.pid):
            self._wait(until=self._stop_at)
            # the grace of a stop is for the command; its outputs are still uploaded, unless a new stop arrives or the
            # grace is 0
            is_urgent = self._stop_at is not None and time.monotonic() >= self._stop_at
            if is_urgent and (not was_asked_before or self._last_grace_seconds == 0):
                self._out.kill()
        self._facts = self._facts._replace(upload=self._out.result(self._ended[self._out.pid]))

    # the record

    def _note(self, phase: str) -> None:
        """Write the phase. On a full disk the old phase remains until the next."""
        self._phase = phase
        self._records.put(
            STATUS,
            {
                "phase": phase,
                "pid": os.getpid(),
                "boot_id": self._boot_id,
                "started_at": self._started_at,
                "ended_at": self._ended_at,
            },
        )

    def _finish(self) -> None:
        verdict = judge(self._facts)
        if self._door is not None:
            self._door.close()
            self._door = None
        if self._log_copy is not None:
            self._log_copy.follow(is_last=True)
        length = os.fstat(self._log).st_size
        self._marks.add(length, time.time())
        self._records.put_until_there_is_room(
            EXIT,
            {
                "state": verdict.state,
                "exit_code": self._facts.exit_code,
                "reason": verdict.reason,
                "message": verdict.message[:1500],
                "is_output_complete": self._facts.upload is None,
                "started_at": self._started_at,
                "ended_at": self._ended_at or time.time(),
                "log_bytes": length,
                "boot_id": self._boot_id,
            },
        )
        self._records.clear_reserve()

    # waiting

    def _wait(self, *, until: float | None = None) -> None:
        """Wait for an event or for one tick, and process all events."""
        timeout = TICK_SECONDS if until is None else min(TICK_SECONDS, max(0.0, until - time.monotonic()))
        watched: list[int] = [self._wake_up, self._control]
        door = self._door.fileno() if self._door is not None else -1
        control = self._init.control if self._init is not None else None
        watched += [file for file in (door, control.fileno() if control is not None else -1) if file >= 0]
        ready = select.select(watched, [], [], timeout)[0]
        if self._wake_up in ready:
            os.read(self._wake_up, 4096)
        if self._control in ready:
            self._obey(os.read(self._control, 4096))
        if self._door is not None and door in ready:
            self._door.answer(self._init)
        if self._is_terminated:
            self._is_terminated = False
            self._stop(self._task.grace_seconds)
        self._hear_init()
        self._collect()
        self._watch_lease()
        if self._net is not None:
            self._closed.keep(self._net)
        self._beat()

    def _watch_lease(self) -> None:
        overdue = self._lease.overdue() if self._ended_at is None else 0.0
        if overdue and self._stop_was_asked:  # the stop's own grace may be longer
            self._stop(EXCEEDED_GRACE_SECONDS)
        elif overdue:
            self._exceed("cut_off", f"no contact with the cluster for {overdue:.0f} s; the task is stopped")

    def _obey(self, orders: bytes) -> None:
        for line in orders.decode(errors="replace").splitlines():
            word, _, seconds = line.partition(" ")
            if word == "stop":
                self._stop_was_ordered = True
                self._stop(float(seconds))

    def _stop(self, grace_seconds: float) -> None:
        at = time.monotonic() + grace_seconds
        self._stop_was_asked = True
        self._last_grace_seconds = grace_seconds
        if self._task.stop_file:
            leave_notice(self._folder, self._task.stop_file, grace_seconds)
        self._stop_at = at if self._stop_at is None else min(at, self._stop_at)
        if self._init is not None:
            self._init.stop(grace_seconds)

    def _beat(self) -> None:
        with contextlib.suppress(OSError):  # a missed heartbeat is harmless: the lock tells whether the shim lives
            os.utime(os.path.join(self._folder, STATUS))
        if self._log_copy is not None:
            self._log_copy.follow()
        self._marks.add(os.fstat(self._log).st_size, time.time())

    def _collect(self) -> None:
        while True:
            try:
                pid, status, used = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._ended[pid] = status
            if pid not in self._own_processes():
                self._use.reaped(pid, used)
            problem = self._disk.reaped(pid)
            if problem:
                self._exceed("disk_limit", problem)

    def _has_ended(self, pid: int) -> bool:
        return pid in self._ended

    def _on_sigterm(self, *_: object) -> None:
        self._is_terminated = True
