"""Resolve the names of a job's inputs to the versions that they named at submission. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from danlu.launch.plan import Plan
from danlu.spec.job import JobSpec
from danlu.spec.models import is_version_id
from danlu.spec.paths import ARTIFACT


def fetched_from(source: str, stood_for: Mapping[str, str]) -> str:
    """Where an input of a job is fetched from: `artifact:<id>`, a store path, or an external URL.

    `stood_for` maps every artifact and model that the job names to the id of its version, and the id of every model
    version to the location of its files.
    """
    found = stood_for.get(source)
    if found is None:
        return source
    return stood_for[found] if is_version_id(found) else f"{ARTIFACT}{found}"


def sources_of(spec: JobSpec, stood_for: Mapping[str, str]) -> dict[str, str]:
    """Input as in the job -> where it is fetched from."""
    return {source: fetched_from(source, stood_for) for source in spec.data}


def with_sources(plan: Plan, stood_for: Mapping[str, str]) -> Plan:
    """The plan with resolved inputs."""
    return plan.model_copy(
        update={
            "tasks": tuple(
                task.model_copy(
                    update={
                        "inputs": tuple(
                            fetch.model_copy(update={"source": fetched_from(fetch.source, stood_for)})
                            for fetch in task.inputs
                        )
                    }
                )
                for task in plan.tasks
            )
        }
    )
