"""The scheduler loop: reconcile live attempts, serve the queue, repeat. Requests wake it and do not wait for it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice, repeat

from danlu.engines.base import Observation
from danlu.errors import DanluError
from danlu.launch.placement import simulated_notes
from danlu.scheduler.aside import Aside
from danlu.scheduler.collect_logs import PATIENCE_SECONDS, LogCopier
from danlu.scheduler.collect_usage import Collector
from danlu.scheduler.context import Context
from danlu.scheduler.kept import KeptState
from danlu.scheduler.listing import keep_apart, nodes_of
from danlu.scheduler.live import LiveJob, LiveJobs
from danlu.scheduler.loading import load_snapshot
from danlu.scheduler.policy.decide import next_deadline
from danlu.scheduler.policy.snapshot import Evict, GiveUp, Start, Wait
from danlu.scheduler.preempting import preempt
from danlu.scheduler.reconcile import end_unstarted, is_unchanged, reconcile, set_waiting_for_disk
from danlu.scheduler.retention import BATCH, forget, release, remove_leftovers, remove_old_logs
from danlu.scheduler.running import RunningJobs
from danlu.scheduler.specs import SpecCache
from danlu.scheduler.starting import START_SECONDS, begin, launch
from danlu.spec.nodes import NodeInfo
from danlu.spec.reasons import Reason, reason
from danlu.spec.states import AttemptState, Desired, JobState, TaskState
from danlu.store.queries import attempts, jobs, nodes

log = logging.getLogger(__name__)

BUSY_SECONDS = 0.1
"""Pause between polls while a job is starting or stopping."""

GATHER_SECONDS = 0.002
"""Once woken, the loop waits at least this long, to serve a burst of requests at once."""

QUIET_SECONDS = 0.8
"""Longest pause between polls of running jobs that do not change."""

WATCH_SHARE = 0.2
"""Largest share of CPU time for polling live jobs; exceeded if the pause would be longer than MAX_WATCH_SECONDS."""

MAX_WATCH_SECONDS = 2.0
QUEUE_DUTY = 1
"""Number of the lock that lets only one of several servers serve the queue at a time."""

BURST_SECONDS = 1.0
"""CPU time for starting jobs before live jobs are polled again: users may be waiting for one to stop."""

MAX_REST_SECONDS = 0.5
OVERTIME_SECONDS = 30.0
START_AGAIN_SECONDS = 1.0
IDLE_SECONDS = 5.0
NODES_SECONDS = 20.0
CLEAN_SECONDS = 600.0
QUEUE_SECONDS = 60.0
"""The queue is served at least this often, even without changes."""

QUEUE_SHARE = 0.1
"""Largest share of CPU time for serving the queue, however often the loop is woken."""


class Scheduler:
    """Runs in its own thread. A kill may interrupt any step; the next start resumes it."""

    def __init__(
        self,
        context: Context,
        *,
        queue_share: float = QUEUE_SHARE,
        burst_seconds: float = BURST_SECONDS,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        """`patience_seconds`: how long a tick waits for logs, which other threads copy."""
        self._context, self._burst_seconds = context, burst_seconds
        self._queue_share = queue_share
        self._copier = LogCopier(context.logs, patience_seconds=patience_seconds)
        self._aside = Aside()
        self._specs = SpecCache()
        self._live, self._running, self._kept = LiveJobs(context, self._specs), RunningJobs(), KeptState()
        self._wake, self._stopping = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._kill_at: dict[tuple[str, int], float] = {}
        self._start_again_at: dict[tuple[str, int], float] = {}
        self._nodes_at = self._cleaned_at = float("-inf")
        self._usage = Collector(context.usage, context.engines)
        self._queue_changed = self._live_changed = True
        self._queue_due = self._queue_not_before = self._watch_due = float("-inf")
        self._pause = BUSY_SECONDS
        self._infos: dict[str, NodeInfo] = {}

    def start(self) -> None:
        """Load the nodes, so that they are known when this returns, and start the thread."""
        try:
            self._refresh_nodes()
        except DanluError as error:  # such as a full disk: the server can still answer reads
            log.warning("cannot load the nodes, retrying in a second: %s", error)
        self._thread = threading.Thread(target=self._run, name="scheduler", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the loop and release all claims. Jobs keep running."""
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout=30)
        try:
            self._context.database.write(jobs.release, self._context.server_id)
        except DanluError as error:
            log.warning("cannot release claims, they expire: %s", error)

    def finish_aside(self) -> None:
        """Wait for background work, such as removing the files of ended attempts."""
        self._aside.finish()

    def wake(self, *, only_queue: bool = False) -> None:
        """Wake the loop because a job changed; `only_queue`: a new one was submitted, live jobs need no poll."""
        self._queue_changed = True
        if not only_queue:
            self._live_changed = True
        self._wake.set()

    def _run(self) -> None:
        pause, ticked_at = 0.0, float("-inf")
        while not self._stopping.is_set():
            if self._wake.wait(pause):
                # immediate after a pause; in a burst of requests, one tick serves many
                self._stopping.wait(max(GATHER_SECONDS, ticked_at + BUSY_SECONDS - time.monotonic()))
            self._wake.clear()
            ticked_at = time.monotonic()
            try:
                pause = self.tick(watch=self._live_changed or ticked_at >= self._watch_due)
            except DanluError as error:
                log.warning("scheduler tick failed, retrying in a second: %s", error)
                pause = 1.0
            except Exception:
                # a bug must not end the loop: no job would make progress
                log.exception("unexpected error in the scheduler; it continues")
                pause = 1.0

    def tick(self, *, watch: bool = True) -> float:
        """Reconcile once, or only serve the queue; return the seconds until the next tick is due."""
        self._refresh_nodes()
        self._clean_up_if_due()
        if watch:
            self._live_changed = False
            with self._context.look("watch"):
                self._pause = self._watch_all()
            self._watch_due = time.monotonic() + self._pause
        if self._serve_queue_if_due():
            self._pause = BUSY_SECONDS
            self._watch_due = time.monotonic() + self._pause
        return max(0.0, min(self._watch_due - time.monotonic(), self._until_queue()))

    def _watch_all(self) -> float:
        """Reconcile all live attempts; return the seconds until the next time."""
        used = time.thread_time()
        live = self._live.load()
        is_quiet = self._reconcile(live)
        self._usage.look(live)
        if not live:
            return IDLE_SECONDS
        is_moving = any(item.attempt.state != AttemptState.RUNNING.value for item in live)
        pause = BUSY_SECONDS if is_moving or not is_quiet else min(self._pause * 1.3, QUIET_SECONDS)
        rest = (time.thread_time() - used) * (1 / WATCH_SHARE - 1)
        return max(pause, min(rest, MAX_WATCH_SECONDS))

    def _until_queue(self) -> float:
        due = self._queue_not_before if self._queue_changed else self._queue_due
        return max(0.0, due - time.monotonic())

    def _serve_queue_if_due(self) -> int:
        """Serve the queue if it changed or is due, within its share of CPU time; return how many jobs changed state."""
        began = time.monotonic()
        if began < self._queue_not_before or not (self._queue_changed or began >= self._queue_due):
            return 0
        self._queue_changed = False
        used = time.thread_time()  # CPU time only: other threads run while this one waits
        with self._context.database.duty(QUEUE_DUTY) as is_mine:
            if not is_mine:  # another server is serving, and may not have seen this change
                self._queue_changed, self._queue_not_before = True, began + BUSY_SECONDS
                return 0
            with self._context.look("queue"):
                num_started, wait = self._serve_queue()
        rest = (time.thread_time() - used) * (1 / self._queue_share - 1)
        self._queue_due = time.monotonic() + min(wait, QUEUE_SECONDS)
        self._queue_not_before = time.monotonic() + min(rest, MAX_REST_SECONDS)
        return num_started

    def _refresh_nodes(self) -> None:
        if time.monotonic() - self._nodes_at < NODES_SECONDS:
            return
        infos: dict[str, NodeInfo] = {}
        for name, engine in self._context.engines.items():
            try:
                seen = {info.name: info for info in nodes_of(name, engine, others=infos)}
            except DanluError as error:
                log.warning("cannot list the nodes of engine %s: %s", name, error)
                continue
            infos.update(seen)
            self._store_nodes(name, seen)
        self._nodes_at = time.monotonic()
        if infos != self._infos:
            self._infos = infos
            self._queue_changed = True
        keep_apart(self._context.engines)

    def _store_nodes(self, engine: str, seen: Mapping[str, NodeInfo]) -> None:
        database, now = self._context.database, self._context.now()
        is_known = all(self._infos.get(name) == info for name, info in seen.items())
        if is_known and database.write(nodes.touch_nodes, engine, now) == len(seen):
            return
        rows = {node: info.model_dump(mode="json") for node, info in seen.items()}
        database.write(nodes.save_nodes, engine, rows, now)

    def _clean_up_if_due(self) -> None:
        if time.monotonic() - self._cleaned_at <= CLEAN_SECONDS:
            return
        self._aside.do(partial(remove_leftovers, self._context))
        if remove_old_logs(self._context) < BATCH:
            self._cleaned_at = time.monotonic()

    def _reconcile(self, live: Sequence[LiveJob]) -> bool:
        """Reconcile live attempts; return whether nothing changed."""
        is_quiet = True
        problems: list[DanluError] = []
        self._copier.begin_look()
        for item, seen in self._poll(self._launch_unconfirmed(live, problems)):
            if is_unchanged(item, seen):
                if item.just_runs:
                    continue
            else:
                is_quiet = False
                self._live.forget(item)
            with _without_others(item, problems):
                self._reconcile_one(item, seen)
        if problems:
            raise problems[0]
        return is_quiet

    def _reconcile_one(self, item: LiveJob, seen: Sequence[Observation | None]) -> None:
        key = (item.job.id, item.attempt.number)
        if reconcile(self._context, self._copier, item, seen):
            self._queue_changed = True
            self._kill_at.pop(key, None)
            self._start_again_at.pop(key, None)
            self._clean_up(item)
        elif item.attempt.state == AttemptState.STOPPING.value:
            self._stop_tasks(item, are_all_reachable=None not in seen)

    def _stop_tasks(self, item: LiveJob, *, are_all_reachable: bool) -> None:
        """Stop the tasks once with grace, and kill them when they still run OVERTIME_SECONDS after it."""
        key = (item.job.id, item.attempt.number)
        now = time.monotonic()
        if (engine := self._context.engines.get(item.job.engine)) is None:
            return
        if key not in self._kill_at:
            engine.stop(item.handles, item.spec.grace)
            if not are_all_reachable:  # repeat, for the nodes that were unreachable
                return
            self._kill_at[key] = now + item.spec.grace + OVERTIME_SECONDS
        elif now > self._kill_at[key]:
            log.warning("%s did not end within its grace period; killing it", item.job.id)
            engine.stop(item.handles, 0.0)
            self._kill_at[key] = now + OVERTIME_SECONDS

    def _launch_unconfirmed(self, live: Sequence[LiveJob], problems: list[DanluError]) -> list[LiveJob]:
        """Launch attempts again that a killed server did not mark as started; return the others, to be polled."""
        engines = self._context.engines
        for item in (item for item in live if not item.attempt.is_started and item.job.engine in engines):
            with _without_others(item, problems):
                self._launch_again(item)
        # if its engine is no longer configured, it may have been started there: it is polled too, and is unreachable
        return [item for item in live if item.attempt.is_started or item.job.engine not in engines]

    def _launch_again(self, item: LiveJob) -> None:
        if item.job.desired != Desired.RUN.value and self._is_unknown_to_engine(item):
            code = "stopped_by_user" if item.job.desired == Desired.STOP.value else "paused"
            self._end_unstarted(item, reason(code), AttemptState.STOPPED)
        elif time.monotonic() >= self._start_again_at.get((item.job.id, item.attempt.number), 0.0):
            self._launch(item)

    def _launch(self, item: LiveJob) -> None:
        """Launch an attempt. When a disk is full, it is retried for START_SECONDS."""
        why = launch(self._context, item)
        if why is None:
            return
        age = (self._context.now() - item.attempt.started_at).total_seconds()
        if why.code == "disk_full" and age < START_SECONDS:
            self._start_again_at[item.job.id, item.attempt.number] = time.monotonic() + START_AGAIN_SECONDS
            set_waiting_for_disk(self._context, item, why)
        else:
            self._end_unstarted(item, why, AttemptState.FAILED)

    def _is_unknown_to_engine(self, item: LiveJob) -> bool:
        """Whether the engine does not know the attempt, so that it can end without being started."""
        ((_, seen),) = self._poll([item])
        return all(now is not None and now.state is TaskState.LOST for now in seen)

    def _end_unstarted(self, item: LiveJob, why: Reason, state: AttemptState) -> None:
        end_unstarted(self._context, item, why, state)
        self._start_again_at.pop((item.job.id, item.attempt.number), None)
        self._queue_changed = True
        self._clean_up(item)

    def _poll(self, live: Sequence[LiveJob]) -> list[tuple[LiveJob, Sequence[Observation | None]]]:
        """Poll each engine once for all of its tasks."""
        answers: list[tuple[LiveJob, Sequence[Observation | None]]] = []
        seen: Iterator[Observation | None]
        for name, engine in self._context.engines.items():
            mine = [item for item in live if item.job.engine == name]
            if not mine:
                continue
            try:
                seen = iter(engine.poll([handle for item in mine for handle in item.handles]))
            except DanluError as error:
                log.warning("engine %s is unavailable: %s", name, error)
                seen = repeat(None)
            answers += ((item, list(islice(seen, len(item.tasks)))) for item in mine)
        gone = (item for item in live if item.job.engine not in self._context.engines)  # no longer configured
        return [*answers, *((item, [None] * len(item.tasks)) for item in gone)]

    def _serve_queue(self) -> tuple[int, float]:
        """Start what fits, preempt, store why jobs wait. Return starts and evictions, and seconds to the deadline."""
        context = self._context
        context.database.write(jobs.settle_waiting, context.now())
        with context.database.reading() as session:
            snapshot, rows, drains = load_snapshot(session, self._infos, specs=self._specs, running=self._running)
        for job_id in set(rows) - {job.id for job in snapshot.queue}:
            self._give_up(GiveUp(job_id, reason("cannot_plan", "this version of Danlu cannot parse the job's spec")))
        num_started, waits, used = 0, [], time.thread_time()
        for action in self._kept.decide(snapshot, self._infos, drains, now=context.now()):
            if isinstance(action, Start) and num_started and time.thread_time() - used > self._burst_seconds:
                self._queue_changed = True  # start the others after polling live jobs
            elif isinstance(action, Start):
                placed_on = dict.fromkeys(task.node for task in action.placement.tasks)
                notes = [note for node in placed_on for note in self._infos[node].missing]
                notes += simulated_notes(action.placement)
                engine = self._infos[next(iter(placed_on))].engine
                item = begin(context, action.job_id, action.placement, engine=engine, notes=list(dict.fromkeys(notes)))
                if item is not None:
                    num_started += 1
                    self._launch(item)
            elif isinstance(action, Evict):
                num_started += preempt(context, action)  # its resources will be free soon
            elif isinstance(action, GiveUp):
                self._give_up(action)
            elif _is_new_reason(action.why, rows[action.job_id]):
                waits.append(action)
        self._store_reasons(waits)
        return num_started, next_deadline(snapshot, context.now())

    def _store_reasons(self, waits: Sequence[Wait]) -> None:
        for first in range(0, len(waits), 200):
            with self._context.database.writing() as session:
                for action in waits[first : first + 200]:
                    jobs.set_reason(session, action.job_id, action.why)

    def _give_up(self, action: GiveUp) -> None:
        with self._context.database.writing() as session:
            job, now = jobs.get_job(session, action.job_id), self._context.now()
            if job is not None and jobs.move_job(session, job, JobState.FAILED, action.why, ended_at=now):
                jobs.add_event(session, job.id, job.attempt, kind="failed", message=action.why.message, at=now)

    def _clean_up(self, item: LiveJob) -> None:
        """Release what the attempt held, and remove its files on its nodes unless output was not uploaded."""
        engine, job_id, number = self._context.engines[item.job.engine], item.job.id, item.attempt.number
        with self._context.database.reading() as session:
            attempt = attempts.get_attempt(session, item.job.id, item.attempt.number)
        is_complete = attempt is None or attempt.is_output_complete
        self._aside.do(partial(forget if is_complete else release, engine, job_id, number=number))


@contextmanager
def _without_others(item: LiveJob, problems: list[DanluError]) -> Iterator[None]:
    """Do something for one job: others must go on after a problem such as a full disk, and after a bug."""
    try:
        yield
    except DanluError as error:
        problems.append(error)
    except Exception:
        log.exception("cannot reconcile %s", item.job.id)


def _is_new_reason(why: Reason, job: jobs.QueueRow) -> bool:
    """Whether a reason must be stored. During a retry wait the stored one says how the last attempt failed."""
    if why.code == job.reason_code == "retry_wait":
        return False
    return (why.code, why.message) != (job.reason_code, job.reason_message)
