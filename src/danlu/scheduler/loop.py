"""The loop: watch what runs, serve the queue, again. Anybody may wake it; nobody waits for it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence

from danlu.engines.base import Observation
from danlu.errors import DanluError
from danlu.scheduler.following import end_unstarted, follow
from danlu.scheduler.live import LiveJob, load_live
from danlu.scheduler.loading import SpecCache, load_snapshot
from danlu.scheduler.parts import Parts
from danlu.scheduler.policy import decide
from danlu.scheduler.snapshot import GiveUp, Start, Wait
from danlu.scheduler.starting import begin, launch
from danlu.spec.nodes import NodeInfo
from danlu.spec.states import AttemptState, JobState
from danlu.store import jobs, nodes

log = logging.getLogger(__name__)

BUSY_SECONDS = 0.1
"""Pause between looks while something is starting or stopping."""

RUNNING_SECONDS = 0.3
IDLE_SECONDS = 2.0
NODES_SECONDS = 10.0
QUEUE_SECONDS = 5.0
"""The queue is looked at this often even when nothing seems to have happened: another server may have added to it."""


class Scheduler:
    """Runs in a thread of its own. Every step may be cut off by a kill and is taken up again by the next start."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._specs = SpecCache()
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._told_to_stop: set[tuple[str, int]] = set()
        self._nodes_at = self._queue_at = float("-inf")
        self._infos: dict[str, NodeInfo] = {}

    def start(self) -> None:
        """Look at the nodes, so that they are known when this returns, and begin."""
        self._refresh_nodes()
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

    def wake(self) -> None:
        """Say that something in the queue changed."""
        self._queue_at = float("-inf")
        self._wake.set()

    def _run(self) -> None:
        pause = 0.0
        while not self._stopping.is_set():
            self._wake.wait(pause)
            self._wake.clear()
            try:
                pause = self.tick()
            except DanluError as error:
                log.warning("the scheduler tries again in a second: %s", error)
                pause = 1.0
            except Exception:
                # a bug must not end the loop: everything else would stand still with it
                log.exception("the scheduler met an error it does not know, and goes on")
                pause = 1.0

    def tick(self) -> float:
        """Look once at everything; return how long nothing is expected to happen."""
        self._refresh_nodes()
        live = load_live(self._parts)
        num_ended = self._watch(live)
        if num_ended or time.monotonic() - self._queue_at > QUEUE_SECONDS:
            self._queue_at = time.monotonic()
            num_started = self._serve_queue()
            if num_started:
                return BUSY_SECONDS
        if any(item.attempt.state != AttemptState.RUNNING.value for item in live):
            return BUSY_SECONDS
        return RUNNING_SECONDS if live else IDLE_SECONDS

    def _refresh_nodes(self) -> None:
        if time.monotonic() - self._nodes_at < NODES_SECONDS:
            return
        self._nodes_at = time.monotonic()
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
        if infos != self._infos:
            self._infos = infos
            self._queue_at = float("-inf")

    def _watch(self, live: Sequence[LiveJob]) -> int:
        """Follow all live attempts; return how many ended."""
        num_ended = 0
        for item, seen in self._poll(self._started(live)):
            key = (item.job.id, item.attempt.number)
            if follow(self._parts, item, seen):
                num_ended += 1
                self._told_to_stop.discard(key)
                self._clean_up(item)
            elif item.attempt.state == AttemptState.STOPPING.value and key not in self._told_to_stop:
                self._parts.engines[item.job.engine].stop(item.handles, item.spec.grace)
                if None not in seen:  # a node that was away is told again
                    self._told_to_stop.add(key)
        return num_ended

    def _started(self, live: Sequence[LiveJob]) -> list[LiveJob]:
        """Repeat the starts that a killed server did not confirm; return what can be looked at."""
        ready = [item for item in live if item.attempt.is_started]
        for item in live:
            if not item.attempt.is_started:
                self._launch(item)
        return ready

    def _launch(self, item: LiveJob) -> None:
        why = launch(self._parts, item)
        if why is not None:
            end_unstarted(self._parts, item, why)
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

    def _serve_queue(self) -> int:
        """Start what fits, say why the rest waits; return how many started."""
        parts = self._parts
        parts.database.write(jobs.settle_waiting, parts.now())
        with parts.database.reading() as session:
            snapshot, rows = load_snapshot(session, self._infos, self._specs)
        num_started, waits = 0, []
        for action in decide(snapshot, parts.now()):
            if isinstance(action, Start):
                placed_on = dict.fromkeys(task.node for task in action.placement.tasks)
                notes = [note for node in placed_on for note in self._infos[node].missing]
                item = begin(parts, action.job_id, action.placement, list(dict.fromkeys(notes)))
                if item is not None:
                    num_started += 1
                    self._launch(item)
            elif isinstance(action, GiveUp):
                self._give_up(action)
            elif (rows[action.job_id].reason_code, rows[action.job_id].reason_message) != (
                action.why.code,
                action.why.message,
            ):
                waits.append(action)
        self._say_why(waits)
        return num_started

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
            job = jobs.get_job(session, item.job.id)
        if job is not None and job.reason_code == "upload_failed":
            return
        try:
            self._parts.engines[item.job.engine].forget(item.job.id, item.attempt.number)
        except (DanluError, OSError) as error:
            log.warning("%s attempt %s left files behind: %s", item.job.id, item.attempt.number, error)
