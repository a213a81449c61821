"""The policy's state, kept between rounds: in a large cluster most of it does not change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from danlu.scheduler.loading import free_nodes
from danlu.scheduler.policy.decide import decide, make_state
from danlu.scheduler.policy.holdings import Quotas
from danlu.scheduler.policy.snapshot import Action, Drain, Evict, RunningJob, Snapshot
from danlu.scheduler.policy.state import SchedulingState
from danlu.spec.nodes import NodeInfo

MAX_ROUNDS = 500
"""Rebuild the state after this many rounds: sums of fractional cpus drift, and caches in it only grow."""

Basis = tuple[Mapping[str, NodeInfo], Mapping[str, Drain], Quotas]


class KeptState:
    def __init__(self) -> None:
        self._state: SchedulingState | None = None
        self._running: Mapping[str, RunningJob] = {}
        self._basis: Basis = {}, {}, Quotas()
        self._num_rounds = 0

    def decide(
        self, snapshot: Snapshot, infos: Mapping[str, NodeInfo], drains: Mapping[str, Drain], *, now: datetime
    ) -> list[Action]:
        """`decide` for a snapshot without nodes. Unchanged running jobs must be the same objects as before."""
        kept, self._state = self._state, None
        state = self._bring_up_to_date(kept, snapshot, (infos, drains, snapshot.quotas))
        actions = decide(snapshot, now, state)
        # rebuild after evictions, which are marked in the state but may fail to be stored, and after an error
        if not any(isinstance(action, Evict) for action in actions):
            self._state = state
        return actions

    def _bring_up_to_date(self, kept: SchedulingState | None, snapshot: Snapshot, basis: Basis) -> SchedulingState:
        running = {job.id: job for job in snapshot.running}
        before, self._running = self._running, running
        is_same = basis[0] is self._basis[0] and basis[1:] == self._basis[1:]
        self._basis, self._num_rounds = basis, self._num_rounds + 1
        if kept is None or not is_same or self._num_rounds > MAX_ROUNDS:
            self._num_rounds = 0
            return make_state(replace(snapshot, nodes=tuple(free_nodes(basis[0], snapshot.running, basis[1]))))
        # jobs that the last round started are replaced by those in the database: their start may have failed
        stays = {job_id for job_id, job in running.items() if before.get(job_id) is job}
        kept.exchange(
            [job_id for job_id in kept.cluster.placed if job_id not in stays],
            [job for job_id, job in running.items() if job_id not in stays],
        )
        kept.begin_round(snapshot.ports_in_use)
        return kept
