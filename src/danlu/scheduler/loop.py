"""The loop: watch what runs, serve the queue, again. Anybody may wake it; nobody waits for it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from functools import partial

from danlu.engines.base import Engine, Observation
from danlu.errors import DanluError
from danlu.launch.placement import simulated_notes
from danlu.scheduler.aside import Aside
from danlu.scheduler.collect_logs import PATIENCE_SECONDS, LogCopier
from danlu.scheduler.collect_usage import Collector
from danlu.scheduler.context import Parts
from danlu.scheduler.following import end_unstarted, follow, is_unchanged, note_no_room
from danlu.scheduler.live import LiveJob, load_live
from danlu.scheduler.loading import load_snapshot
from danlu.scheduler.policy.decide import decide, next_deadline
from danlu.scheduler.policy.snapshot import Evict, GiveUp, Start, Wait
from danlu.scheduler.preempting import preempt
from danlu.scheduler.retention import BATCH, remove_leftovers, remove_old_logs
from danlu.scheduler.specs import SpecCache
from danlu.scheduler.starting import START_SECONDS, begin, launch
from danlu.spec.nodes import NodeInfo
from danlu.spec.reasons import Reason, reason
from danlu.spec.states import AttemptState, Desired, JobState, TaskState
from danlu.store.queries import attempts, jobs, nodes

log = logging.getLogger(__name__)

BUSY_SECONDS = 0.1
"""Pause between looks while something is starting or stopping."""

GATHER_SECONDS = 0.01
"""After being woken the loop waits at least this long for more of the same."""

QUIET_SECONDS = 0.8
"""Pause between looks at running jobs once they have nothing to say; it grows up to here."""

QUEUE_DUTY = 1
"""Of several servers one serves the queue at a time: what is free is counted, and counted once."""

MAX_REST_SECONDS = 1.0
OVERTIME_SECONDS = 30.0
START_AGAIN_SECONDS = 1.0
IDLE_SECONDS = 5.0
NODES_SECONDS = 20.0
TIDY_SECONDS = 600.0
QUEUE_SECONDS = 60.0
"""The queue is looked at this often even when nothing seems to have happened."""

QUEUE_SHARE = 0.05
"""Serving a long queue may take this share of the time at most, however often the loop is woken."""


class Scheduler:
    """Runs in a thread of its own. Every step may be cut off by a kill and is taken up again by the next start."""

    def __init__(
        self, parts: Parts, *, queue_share: float = QUEUE_SHARE, patience_seconds: float = PATIENCE_SECONDS
    ) -> None:
        """`patience_seconds`: how long a look waits for logs to be copied, which is done beside it."""
        self._parts = parts
        self._queue_share = queue_share
        self._copier = LogCopier(parts.logs, patience_seconds=patience_seconds)
        self._aside = Aside()
        self._specs = SpecCache()
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._told_to_stop: dict[tuple[str, int], float] = {}
        self._start_again_at: dict[tuple[str, int], float] = {}
        self._nodes_at = self._tidied_at = float("-inf")
        self._use = Collector(parts.use, parts.engines)
        self._queue_changed = self._live_changed = True
        self._queue_due = self._queue_not_before = self._watch_due = float("-inf")
        self._pause = BUSY_SECONDS
        self._infos: dict[str, NodeInfo] = {}

    def start(self) -> None:
        """Look at the nodes, so that they are known when this returns, and begin."""
        try:
            self._refresh_nodes()
        except DanluError as error:  # such as a full disk: what is stored can be read all the same
            log.warning("the nodes are looked at again in a second: %s", error)
        self._thread = threading.Thread(target=self._run, name="scheduler", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the loop and give up all claims. Jobs go on."""
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout=30)
        try:
            self._parts.database.write(jobs.release, self._parts.server_id)
        except DanluError as error:
            log.warning("claims run out by themselves: %s", error)

    def finish_aside(self) -> None:
        """Wait for what is done beside the loop, such as removing the files of ended attempts."""
        self._aside.finish()

    def wake(self, *, only_queue: bool = False) -> None:
        """Say that something is wanted of a job; `only_queue` when it is a new one, so that no other is looked at."""
        self._queue_changed = True
        if not only_queue:
            self._live_changed = True
        self._wake.set()

    def _run(self) -> None:
        pause, ticked_at = 0.0, float("-inf")
        while not self._stopping.is_set():
            if self._wake.wait(pause):
                # at once after a rest; in a burst of requests one look serves many of them
                self._stopping.wait(max(GATHER_SECONDS, ticked_at + BUSY_SECONDS - time.monotonic()))
            self._wake.clear()
            ticked_at = time.monotonic()
            try:
                pause = self.tick(watch=self._live_changed or ticked_at >= self._watch_due)
            except DanluError as error:
                log.warning("the scheduler tries again in a second: %s", error)
                pause = 1.0
            except Exception:
                # a bug must not end the loop: everything else would stand still with it
                log.exception("the scheduler met an error it does not know, and goes on")
                pause = 1.0

    def tick(self, *, watch: bool = True) -> float:
        """Look once at everything, or at the queue alone; return how long nothing is expected to happen."""
        self._refresh_nodes()
        self._tidy_up()
        if watch:
            self._live_changed = False
            self._pause = self._watch_all()
            self._watch_due = time.monotonic() + self._pause
        if self._serve_queue_if_due():
            self._pause = BUSY_SECONDS
            self._watch_due = time.monotonic() + self._pause
        return max(0.0, min(self._watch_due - time.monotonic(), self._until_queue()))

    def _watch_all(self) -> float:
        """Look at all live attempts; return in how many seconds to look again."""
        live = load_live(self._parts, self._specs)
        is_quiet = self._watch(live)
        self._use.look(live)
        if not live:
            return IDLE_SECONDS
        is_moving = any(item.attempt.state != AttemptState.RUNNING.value for item in live)
        return BUSY_SECONDS if is_moving or not is_quiet else min(self._pause * 1.3, QUIET_SECONDS)

    def _until_queue(self) -> float:
        due = self._queue_not_before if self._queue_changed else self._queue_due
        return max(0.0, due - time.monotonic())

    def _serve_queue_if_due(self) -> int:
        """Serve the queue when it changed or its time has come, but never all the time; return how many started."""
        began = time.monotonic()
        if began < self._queue_not_before or not (self._queue_changed or began >= self._queue_due):
            return 0
        self._queue_changed = False
        used = time.thread_time()  # of the processor; waiting for engines and for the database takes it from nobody
        with self._parts.database.duty(QUEUE_DUTY) as is_mine:
            if not is_mine:  # another server is at it, and may have looked before what changed here
                self._queue_changed, self._queue_not_before = True, began + BUSY_SECONDS
                return 0
            num_started, wait = self._serve_queue()
        rest = (time.thread_time() - used) * (1 / self._queue_share - 1)
        self._queue_due = time.monotonic() + min(wait, QUEUE_SECONDS)
        self._queue_not_before = time.monotonic() + min(rest, MAX_REST_SECONDS)
        return num_started

    def _refresh_nodes(self) -> None:
        if time.monotonic() - self._nodes_at < NODES_SECONDS:
            return
        infos: dict[str, NodeInfo] = {}
        for name, engine in self._parts.engines.items():
            try:
                seen = {info.name: info for info in engine.nodes()}
            except DanluError as error:
                log.warning("engine %s does not say what nodes it has: %s", name, error)
                continue
            infos.update(seen)
            rows = {node: info.model_dump(mode="json") for node, info in seen.items()}
            self._parts.database.write(nodes.save_nodes, name, rows, self._parts.now())
        self._nodes_at = time.monotonic()
        if infos != self._infos:
            self._infos = infos
            self._queue_changed = True

    def _tidy_up(self) -> None:
        if time.monotonic() - self._tidied_at <= TIDY_SECONDS:
            return
        self._aside.do(partial(remove_leftovers, self._parts))
        if remove_old_logs(self._parts) < BATCH:
            self._tidied_at = time.monotonic()

    def _watch(self, live: Sequence[LiveJob]) -> bool:
        """Follow all live attempts; return whether none had anything new."""
        is_quiet = True
        problem: DanluError | None = None
        self._copier.begin_look()
        for item, seen in self._poll(self._launch_unconfirmed(live)):
            is_quiet = is_quiet and is_unchanged(item, seen)
            try:
                self._follow(item, seen)
            except DanluError as error:  # such as no room for its log; the others are looked after all the same
                problem = problem or error
            except Exception:  # a bug that one job meets must not leave the others alone
                log.exception("%s could not be followed", item.job.id)
        if problem is not None:
            raise problem
        return is_quiet

    def _follow(self, item: LiveJob, seen: Sequence[Observation | None]) -> None:
        key = (item.job.id, item.attempt.number)
        if follow(self._parts, self._copier, item, seen):
            self._queue_changed = True
            self._told_to_stop.pop(key, None)
            self._start_again_at.pop(key, None)
            self._clean_up(item)
        elif item.attempt.state == AttemptState.STOPPING.value:
            self._tell_to_stop(item, can_all_hear=None not in seen)

    def _tell_to_stop(self, item: LiveJob, *, can_all_hear: bool) -> None:
        """Tell the engine once; and once more, without grace, when the tasks outlive it by far."""
        key = (item.job.id, item.attempt.number)
        now = time.monotonic()
        engine = self._parts.engines[item.job.engine]
        if key not in self._told_to_stop:
            engine.stop(item.handles, item.spec.grace)
            if not can_all_hear:  # a node that is away is told again
                return
            self._told_to_stop[key] = now + item.spec.grace + OVERTIME_SECONDS
        elif now > self._told_to_stop[key]:
            log.warning("%s did not end within its grace; it is killed", item.job.id)
            engine.stop(item.handles, 0.0)
            self._told_to_stop[key] = now + OVERTIME_SECONDS

    def _launch_unconfirmed(self, live: Sequence[LiveJob]) -> list[LiveJob]:
        """Launch again what a killed server did not confirm as started; return the confirmed ones, to be polled."""
        ready = [item for item in live if item.attempt.is_started]
        for item in live:
            if item.attempt.is_started:
                continue
            if item.job.desired != Desired.RUN.value and self._is_nowhere(item):
                code = "stopped_by_user" if item.job.desired == Desired.STOP.value else "paused"
                self._end_unstarted(item, reason(code), AttemptState.STOPPED)
            elif time.monotonic() >= self._start_again_at.get((item.job.id, item.attempt.number), 0.0):
                self._launch(item)
        return ready

    def _launch(self, item: LiveJob) -> None:
        """Start an attempt. One that finds no room for its files is tried again for a while."""
        why = launch(self._parts, item)
        if why is None:
            return
        age = (self._parts.now() - item.attempt.started_at).total_seconds()
        if why.code == "disk_full" and age < START_SECONDS:
            self._start_again_at[item.job.id, item.attempt.number] = time.monotonic() + START_AGAIN_SECONDS
            note_no_room(self._parts, item, why)
        else:
            self._end_unstarted(item, why, AttemptState.FAILED)

    def _is_nowhere(self, item: LiveJob) -> bool:
        """Whether the engine knows nothing of the attempt, so that it can be ended without being started."""
        ((_, seen),) = self._poll([item])
        return all(now is not None and now.state is TaskState.LOST for now in seen)

    def _end_unstarted(self, item: LiveJob, why: Reason, state: AttemptState) -> None:
        end_unstarted(self._parts, item, why, state)
        self._start_again_at.pop((item.job.id, item.attempt.number), None)
        self._queue_changed = True
        self._clean_up(item)

    def _poll(self, live: Sequence[LiveJob]) -> list[tuple[LiveJob, Sequence[Observation | None]]]:
        """Ask each engine once about all of its tasks."""
        answers: list[tuple[LiveJob, Sequence[Observation | None]]] = []
        for name, engine in self._parts.engines.items():
            mine = [item for item in live if item.job.engine == name]
            if not mine:
                continue
            try:
                seen = list(engine.poll([handle for item in mine for handle in item.handles]))
            except DanluError as error:
                log.warning("engine %s does not answer: %s", name, error)
                seen = [None] * sum(len(item.tasks) for item in mine)
            for item in mine:
                answers.append((item, seen[: len(item.tasks)]))
                seen = seen[len(item.tasks) :]
        return answers

    def _serve_queue(self) -> tuple[int, float]:
        """Start what fits, say why the rest waits. Return how many started, and seconds until the next deadline."""
        parts = self._parts
        parts.database.write(jobs.settle_waiting, parts.now())
        with parts.database.reading() as session:
            snapshot, rows = load_snapshot(session, self._infos, self._specs)
        for job_id in set(rows) - {job.id for job in snapshot.queue}:
            self._give_up(GiveUp(job_id, reason("cannot_plan", "this version of Danlu cannot read the job's spec")))
        num_started, waits = 0, []
        for action in decide(snapshot, parts.now()):
            if isinstance(action, Start):
                placed_on = dict.fromkeys(task.node for task in action.placement.tasks)
                notes = [note for node in placed_on for note in self._infos[node].missing]
                notes += simulated_notes(action.placement)
                item = begin(parts, action.job_id, action.placement, list(dict.fromkeys(notes)))
                if item is not None:
                    num_started += 1
                    self._launch(item)
            elif isinstance(action, Evict):
                num_started += preempt(parts, action)  # something moves
            elif isinstance(action, GiveUp):
                self._give_up(action)
            elif _says_more(action.why, rows[action.job_id]):
                waits.append(action)
        self._say_why(waits)
        return num_started, next_deadline(snapshot, parts.now())

    def _say_why(self, waits: Sequence[Wait]) -> None:
        for first in range(0, len(waits), 200):
            with self._parts.database.writing() as session:
                for action in waits[first : first + 200]:
                    jobs.set_reason(session, action.job_id, action.why)

    def _give_up(self, action: GiveUp) -> None:
        with self._parts.database.writing() as session:
            job, now = jobs.get_job(session, action.job_id), self._parts.now()
            if job is not None and jobs.move_job(session, job, JobState.FAILED, action.why, ended_at=now):
                jobs.add_event(session, job.id, job.attempt, kind="failed", message=action.why.message, at=now)

    def _clean_up(self, item: LiveJob) -> None:
        """Remove what the attempt left on its nodes, unless it holds results that never arrived."""
        with self._parts.database.reading() as session:
            attempt = attempts.get_attempt(session, item.job.id, item.attempt.number)
        if attempt is None or attempt.is_output_complete:
            self._aside.do(partial(_forget, self._parts.engines[item.job.engine], item.job.id, item.attempt.number))


def _forget(engine: Engine, job_id: str, number: int) -> None:
    try:
        engine.forget(job_id, number)
    except (DanluError, OSError) as error:
        log.warning("%s attempt %s left files behind: %s", job_id, number, error)


def _says_more(why: Reason, job: jobs.QueueRow) -> bool:
    """Whether a reason is news. While a retry waits, how the last attempt failed is worth more than the time alone."""
    if why.code == job.reason_code == "retry_wait":
        return False
    return (why.code, why.message) != (job.reason_code, job.reason_message)
