"""Running jobs in the form that the policy reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

from sqlalchemy.orm import Session

from danlu.scheduler.policy.snapshot import RunningJob, RunningTask
from danlu.scheduler.specs import SpecCache
from danlu.spec.devices import Device
from danlu.spec.job import JobSpec
from danlu.spec.nodes import NodeInfo
from danlu.spec.states import AttemptState, Desired
from danlu.store.queries import attempts, jobs

LONG_GRACE_SECONDS = 600.0
"""Jobs with a longer grace period do not count as ending soon."""

Key = tuple[str, int]
"""Job and attempt."""


class RunningJobs:
    """Live attempts. What an attempt holds never changes, so it is read once."""

    def __init__(self) -> None:
        self._known: dict[Key, tuple[attempts.LiveAttempt, RunningJob]] = {}
        self._infos: Mapping[str, NodeInfo] = {}

    def load(self, session: Session, infos: Mapping[str, NodeInfo], specs: SpecCache) -> tuple[RunningJob, ...]:
        live = attempts.live_attempts(session)
        specs.add(jobs.specs_of(session, specs.unknown(row.job_id for row in live)))
        if infos is not self._infos:  # devices are those that the nodes report now
            self._known, self._infos = {}, infos
        known = {key: found for row in live if (found := self._known.get(key := _key(row))) and found[0] == row}
        new = [row for row in live if _key(row) not in known]
        known.update((_key(row), (row, job)) for row, job in zip(new, self._read(session, new, specs), strict=True))
        # start times of tasks are still unknown while an attempt is starting
        self._known = {key: found for key, found in known.items() if found[0].state != AttemptState.STARTING.value}
        return tuple(known[_key(row)][1] for row in live)

    def _read(self, session: Session, rows: Sequence[attempts.LiveAttempt], specs: SpecCache) -> list[RunningJob]:
        keys = [_key(row) for row in rows]
        devices = self._devices(attempts.claims_by_key(session, keys))
        tasks = attempts.held_by_key(session, keys)
        ports = attempts.ports_by_key(session, keys)
        return [
            _running_job(
                row, tasks.get(row.job_id, ()), specs.get(row.job_id), devices=devices, ports=ports.get(row.job_id, {})
            )
            for row in rows
        ]

    def _devices(self, claims: Iterable[attempts.Claim]) -> dict[tuple[str, int], list[Device]]:
        """(job, rank) -> what it holds."""
        devices: dict[tuple[str, int], list[Device]] = {}
        reported: dict[str, dict[tuple[str, int], Device]] = {}
        for claim in claims:
            if claim.node in self._infos and claim.node not in reported:
                reported[claim.node] = {(device.type, device.id): device for device in self._infos[claim.node].devices}
            # a device that its node no longer reports, or whose node is unreachable, is still in use
            device = reported.get(claim.node, {}).get((claim.type, claim.device_id))
            held = devices.setdefault((claim.job_id, claim.rank), [])
            held.append(device or Device(type=claim.type, id=claim.device_id))
        return devices


def _key(row: attempts.LiveAttempt) -> Key:
    return row.job_id, row.number


def _running_job(
    attempt: attempts.LiveAttempt,
    tasks: Sequence[attempts.LiveTask],
    spec: JobSpec | None,
    *,
    devices: Mapping[tuple[str, int], list[Device]],
    ports: Mapping[int, frozenset[int]],
) -> RunningJob:
    is_ending = attempt.state == AttemptState.STOPPING.value
    begun = min((task.started_at for task in tasks if task.started_at is not None), default=attempt.started_at)
    limit = spec.max_duration if spec is not None else None
    ends_at = None if spec is None or limit is None else begun + timedelta(seconds=limit + spec.grace)
    fixed = frozenset(spec.ports) if spec is not None else frozenset()
    return RunningJob(
        id=attempt.job_id,
        project_id=attempt.project_id,
        owner_id=attempt.owner_id,
        started_at=attempt.started_at,
        tasks=tuple(
            RunningTask(
                node=task.node,
                devices=tuple(devices.get((task.job_id, task.rank), ())),
                cpus=task.cpus,
                memory_bytes=task.memory_bytes,
                ports=fixed | ports.get(task.rank, frozenset()),
            )
            for task in tasks
        ),
        is_preemptible=spec is not None and spec.preemptible,
        is_ending=is_ending and spec is not None and spec.grace <= LONG_GRACE_SECONDS,
        can_be_stopped=attempt.is_started and not is_ending and attempt.desired == Desired.RUN.value,
        ends_at=ends_at,
    )
