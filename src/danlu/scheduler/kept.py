"""What the policy decides on, kept from one round to the next: of a large cluster most stays as it was."""

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
"""After so many it is built anew: sums of shares of cpus are not exact, and what was looked up is never dropped."""

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
        """`decide` for a snapshot without its nodes. Jobs that did not change are the same objects as before."""
        kept, self._state = self._state, None
        state = self._bring_up_to_date(kept, snapshot, (infos, drains, snapshot.quotas))
        actions = decide(snapshot, now, state)
        # who must leave is marked in the state, and may not: it is built anew after that, and after an error
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
        # what the last round started is taken from the database, or its start came to nothing
        stays = {job_id for job_id, job in running.items() if before.get(job_id) is job}
        kept.exchange(
            [job_id for job_id in kept.cluster.placed if job_id not in stays],
            [job for job_id, job in running.items() if job_id not in stays],
        )
        kept.begin_round(snapshot.ports_in_use)
        return kept
